"""Lines of a file that grows, each once; of one that is long already, a part."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

from holdfast.board import grown_file
from holdfast.board.grown_file import GrownFile


def test_each_line_once_and_the_torn_one_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    file = GrownFile(path)
    assert file.lines() == []
    path.write_bytes(b"one\ntwo\nthr")
    assert file.lines() == [b"one", b"two"]
    assert file.lines() == []
    with path.open("ab") as more:
        more.write(b"ee\n")
    assert file.lines() == [b"three"]
    path.write_bytes(b"new\n")
    assert file.lines() == [b"new"], "a file that was cut is read from its beginning"


def test_a_long_file_is_read_in_part_once_and_then_only_what_is_added(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = [f"{number:09d} ".encode() + b"x" * 89 for number in range(120_000)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    file = GrownFile(path)
    read = [int(line[:9]) for line in file.lines()]
    assert read == sorted(set(read)), "in order, each once"
    assert (read[0], read[-1]) == (0, 119_999)
    assert len(read) < 60_000 and file.sampled
    gaps = [after - before for before, after in pairwise(read)]
    assert max(gaps) < 1000, "from all of it"
    with path.open("ab") as more:
        more.write(b"last\n")
    assert file.lines() == [b"last"]


def test_noise_without_an_end_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "vitals.jsonl"
    path.write_bytes(b"x" * (grown_file._READ_BYTES + 10) + b"\nfine\n")
    file = GrownFile(path)
    assert file.lines() == [] and file.more
    assert file.lines() == [b"x" * 10, b"fine"] and not file.more


def test_a_fifo_is_said_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "journal.jsonl")
    file = GrownFile(tmp_path / "journal.jsonl")
    assert file.lines() == []
    assert file.trouble == "journal.jsonl is a FIFO, not a regular file"
