"""Files that a process has mapped, and what became of them."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from holdfast.supervise.sampling.mapped_files import MappedFiles, mapped

_SIZE = 8 << 20
_MAPS = b"""\
7f0000000000-7f0000800000 rw-s 00000000 00:2f 12   /scratch/tiles.npy
7f0000800000-7f0001000000 r--s 00800000 00:2f 12   /scratch/tiles.npy
7f0001000000-7f0001800000 r--p 00000000 fe:00 13   /data/read-only.bin
7f0001800000-7f0002000000 rw-p 00000000 fe:00 14   /venv/lib/libtorch_cpu.so
7f0002000000-7f0002800000 rw-s 00000000 00:19 15   /dev/shm/torch_1 (deleted)
7f0002800000-7f0002801000 rw-s 00000000 00:19 16   /tmp/small
7f0002801000-7f0003001000 rw-p 00000000 00:00 0
"""


def test_libraries_and_small_files_are_left_out() -> None:
    assert mapped(_MAPS) == {"/scratch/tiles.npy": 16 << 20, "/dev/shm/torch_1 (deleted)": 8 << 20}


def test_a_sparse_file_that_is_cut_off_later(tmp_path: Path) -> None:
    path = tmp_path / "tiles.npy"
    files = MappedFiles()
    with path.open("wb+") as file:
        file.truncate(_SIZE)
        with mmap.mmap(file.fileno(), _SIZE):
            files.look(os.getpid(), 1 << 40)
    found = next(one for one in files.at_the_end() if one.path == str(path))
    assert (found.mapped_bytes, found.size_bytes) == (_SIZE, _SIZE)
    assert found.stored_bytes is not None and found.stored_bytes < _SIZE
    assert found.free_bytes
    path.unlink()
    assert next(one for one in files.at_the_end() if one.path == str(path)).size_bytes is None


def test_the_map_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    files = MappedFiles()
    files.look(os.getpid(), 1 << 40)
    with (tmp_path / "late").open("wb+") as file:
        file.truncate(_SIZE)
        with mmap.mmap(file.fileno(), _SIZE):
            files.look(os.getpid(), (1 << 40) + 4096)
            assert not any(one.path.endswith("late") for one in files.at_the_end())
            files.look(os.getpid(), (1 << 40) + _SIZE)
    assert any(one.path.endswith("late") for one in files.at_the_end())
