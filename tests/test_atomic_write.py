"""Files appear complete or not at all, and nothing is ever written through a link that somebody left in the folder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from holdfast import atomic_write
from tests.waiting import PATIENCE_S

LIMITED = """
import resource, sys
from pathlib import Path
from holdfast import atomic_write
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    atomic_write.write_bytes(Path(sys.argv[1]), b"x" * 100_000)
except OSError as error:
    print(error.filename)
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from holdfast import atomic_write
with atomic_write.replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_content_is_what_was_given_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    atomic_write.write_text(target, "größe\n")
    assert target.read_bytes() == "größe\n".encode()
    atomic_write.write_bytes(target, b"\x00\xff", sync=False)
    assert target.read_bytes() == b"\x00\xff"
    with atomic_write.replacing(target) as file:
        file.write(b"ab")
        file.seek(0)  # as numpy's and zip's writers do
        file.write(b"c")
    assert target.read_bytes() == b"cb"
    assert names(tmp_path) == ["a.json"]


def test_text_that_utf8_has_not_is_written_as_asked(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        atomic_write.write_text(tmp_path / "a", "\udcff")
    atomic_write.write_text(tmp_path / "a", "\udcff", errors="backslashreplace")
    assert (tmp_path / "a").read_bytes() == b"\\udcff"
    assert names(tmp_path) == ["a"]


def test_a_link_at_the_temporary_name_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name cannot be guessed; even where it was, the link is left as it is and another name is taken."""
    keys, target = tmp_path / "authorized_keys", tmp_path / "run" / "report.html"
    keys.write_text("mine\n")
    target.parent.mkdir()
    guessed, another = target.parent / ".guessed.part", target.parent / ".another.part"
    guessed.symlink_to(keys)
    drawn = iter([guessed, guessed, another])
    monkeypatch.setattr(atomic_write, "_temporary", lambda path: drawn.__next__())
    atomic_write.write_text(target, "theirs\n")
    assert keys.read_text() == "mine\n"
    assert target.read_text() == "theirs\n" and not target.is_symlink()
    assert names(target.parent) == [".guessed.part", "report.html"]


def test_temporary_names_differ_and_fit_any_name(tmp_path: Path) -> None:
    target = tmp_path / ("ö" * 127)  # 254 bytes, where a file system takes 255
    assert len({atomic_write._temporary(target) for _ in range(100)}) == 100
    atomic_write.write_text(target, "x")
    assert target.read_text() == "x"


def test_a_destination_that_is_a_link_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    precious, link, dangling = tmp_path / "precious", tmp_path / "link", tmp_path / "dangling"
    precious.write_text("mine")
    link.symlink_to(precious)
    dangling.symlink_to(tmp_path / "nothing")
    atomic_write.write_text(link, "page")
    atomic_write.write_text(dangling, "page")
    assert precious.read_text() == "mine"
    assert link.read_text() == dangling.read_text() == "page"
    assert names(tmp_path) == ["dangling", "link", "precious"]
    assert not link.is_symlink() and not dangling.is_symlink()


def test_an_error_while_writing_leaves_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_write.replacing(target) as file:
        file.write(b"half of the n")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_kill_while_writing_leaves_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, target], timeout=PATIENCE_S)
    assert done.returncode == -9
    assert target.read_text() == "old"


def test_a_disk_that_takes_no_more_is_told_by_the_name_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, target],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout.strip() == str(target)
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_where_nothing_can_be_written_the_error_names_the_destination(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as absent:
        atomic_write.write_text(tmp_path / "nodir" / "a", "x")
    assert absent.value.filename == str(tmp_path / "nodir" / "a")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as taken:
        atomic_write.write_text(tmp_path / "folder", "x")
    assert taken.value.filename == str(tmp_path / "folder") and ".part" not in str(taken.value)
    assert "None" not in str(taken.value) and "None" not in str(absent.value)
    assert names(tmp_path) == ["folder"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_the_mode_is_that_of_any_new_file(tmp_path: Path, umask: int, mode: int) -> None:
    was = os.umask(umask)
    try:
        atomic_write.write_text(tmp_path / "a", "x")
    finally:
        os.umask(was)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_who_reads_while_several_write_sees_one_of_them_complete(tmp_path: Path) -> None:
    target = tmp_path / "a"
    contents = [bytes([letter]) * 50_000 for letter in b"abcd"]

    def write(content: bytes) -> None:
        for _ in range(20):
            atomic_write.write_bytes(target, content, sync=False)

    write(contents[0])
    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert target.read_bytes() in contents
    assert names(tmp_path) == ["a"]
