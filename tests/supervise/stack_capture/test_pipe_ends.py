"""Who holds the reading end of a pipe, and which line made it."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.supervise.stack_capture import pipe_ends


def test_the_reading_end_is_told_from_the_writing_end() -> None:
    reads, writes = os.pipe()
    name = os.readlink(f"/proc/self/fd/{reads}")
    try:
        assert name in pipe_ends.open_read_ends(os.getpid())
        os.close(reads)
        reads = -1
        assert name not in pipe_ends.open_read_ends(os.getpid())
    finally:
        os.close(writes)
        if reads >= 0:
            os.close(reads)


def test_the_line_that_starts_a_program_with_a_pipe(tmp_path: Path) -> None:
    script = tmp_path / "launch.py"
    script.write_text(
        "import subprocess as sp\nfrom subprocess import PIPE, Popen\n"
        "a = sp.Popen(['x'], stdout=open('log', 'w'))\n"
        "b = sp.Popen(\n    ['x'], stdout=sp.PIPE)\nc = Popen(['x'], stdin=PIPE)\n"
    )
    broken = tmp_path / "broken.py"
    broken.write_text("def (:\n")
    assert pipe_ends.pipe_creation_lines([str(script), str(script), str(broken), "/nowhere.py"]) == [
        f"{script}:4",
        f"{script}:6",
    ]


def test_what_is_open_to_write(tmp_path: Path) -> None:
    fifo, plain = tmp_path / "frames.fifo", tmp_path / "plain"
    os.mkfifo(fifo)
    reads, writes = os.pipe()
    both = os.open(fifo, os.O_RDWR)
    try:
        with plain.open("wb"):
            found = pipe_ends.open_write_ends(os.getpid())
        assert {str(fifo), os.readlink(f"/proc/self/fd/{writes}")} <= set(found)
        assert str(plain) not in found
        os.close(both)
        both = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        assert str(fifo) not in pipe_ends.open_write_ends(os.getpid())
    finally:
        for number in (reads, writes, both):
            os.close(number)
