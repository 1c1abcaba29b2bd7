"""Appending to a journal: by two processes, after a partial line, with a descriptor that the script has closed."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from holdfast.journal import reader
from holdfast.journal.events import (
    EpochDone,
    Event,
    NonFiniteSeen,
    Note,
    RunOpened,
)
from holdfast.journal.writer import JournalWriter


def write(path: Path, *written: Event, by: str = "test") -> None:
    writer = JournalWriter(path, by=by)
    for event in written:
        writer.append(event)
    writer.close()


def test_nan_and_infinity_are_written_as_text(tmp_path: Path) -> None:
    write(tmp_path / "j", NonFiniteSeen(last_finite=math.inf, recent=[1.0, -math.inf, math.nan]))
    [line] = (tmp_path / "j").read_text().splitlines()
    assert "NaN" not in line
    assert "Infinity" not in line
    assert json.loads(line)["event"]["recent"] == [1.0, "-inf", "nan"]


def test_writing_continues_after_a_partial_line(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, EpochDone(epoch=1), EpochDone(epoch=2))
    path.write_bytes(path.read_bytes()[:-10])
    write(path, EpochDone(epoch=3))
    assert [entry.event.epoch for entry in reader.read(path)] == [1, 3]  # type: ignore[attr-defined]
    assert [entry.line for entry in reader.read(path)] == [1, 3]


def _append_many(path: Path, by: str, count: int) -> None:
    writer = JournalWriter(path, by=by)
    for number in range(count):
        writer.append(EpochDone(epoch=number, logs={by * 200: 1.0}))


def test_two_processes_append_to_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "j"
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=_append_many, args=(path, by, 300)) for by in "ab"]
    for child in children:
        child.start()
    seen_at_once = [len(reader.read(path)) for _ in range(20) if path.exists()]
    for child in children:
        child.join()
    entries = reader.read(path)
    for by in "ab":
        numbers = [entry.event.epoch for entry in entries if entry.by == by]  # type: ignore[attr-defined]
        assert numbers == list(range(300))
    assert seen_at_once == sorted(seen_at_once)
    lines = path.read_bytes().splitlines()
    # a writer that meets the other's half-written line starts a fresh one: a blank line, never a torn one
    assert len([line for line in lines if line]) == len(entries) == 600


def test_an_unreferenced_writer_closes_its_descriptor(tmp_path: Path) -> None:
    for number in range(20):
        path = tmp_path / f"{number}.jsonl"
        JournalWriter(path, by="trainer").append(RunOpened())
        assert not any(_leads_to(number, path) for number in open_descriptors())


def open_descriptors() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd")]


def opened_as(number: int, path: Path) -> BinaryIO:
    """A new file of the script's own, with the number that another one had."""
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.dup2(file, number)
    os.close(file)
    return open(number, "r+b", buffering=0)


def test_a_file_of_the_scripts_own_that_got_our_number_is_not_written_to(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j", by="probe")
    writer.append(EpochDone(epoch=1))
    [ours] = [number for number in open_descriptors() if _leads_to(number, tmp_path / "j")]
    with opened_as(ours, tmp_path / "data.bin") as data:
        data.write(b"precious\n")
        writer.append(EpochDone(epoch=2))
        writer.append(EpochDone(epoch=3))
        writer.close()
        assert (tmp_path / "data.bin").read_bytes() == b"precious\n"
        data.write(b"and open\n")
    assert [entry.event.epoch for entry in reader.read(tmp_path / "j")] == [1, 2, 3]  # type: ignore[attr-defined]


def test_an_unreferenced_writer_does_not_close_a_file_of_the_script(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j", by="probe")
    [ours] = [number for number in open_descriptors() if _leads_to(number, tmp_path / "j")]
    with opened_as(ours, tmp_path / "data.bin") as data:
        del writer
        data.write(b"precious\n")
    assert (tmp_path / "data.bin").read_bytes() == b"precious\n"


def test_a_journal_that_was_closed_and_removed_is_not_written_again(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j", by="probe")
    [ours] = [number for number in open_descriptors() if _leads_to(number, tmp_path / "j")]
    os.close(ours)
    (tmp_path / "j").rename(tmp_path / "kept")
    (tmp_path / "j").write_text("another's\n")
    with pytest.raises(OSError, match="Bad file descriptor"):
        writer.append(EpochDone(epoch=1))
    assert (tmp_path / "j").read_text() == "another's\n"
    assert not any(_leads_to(number, tmp_path / "j") for number in open_descriptors())


def test_the_standard_descriptors_are_left_to_the_script(tmp_path: Path) -> None:
    """A daemon closes 0, 1 and 2, and opens them anew: the first that it opens has to get 0."""
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from holdfast.journal.events import Note\n"
        "from holdfast.journal.writer import JournalWriter\n"
        "writer = JournalWriter(Path(sys.argv[1]), by='probe')\n"
        "os.closerange(0, 256)\n"
        "writer.append(Note(text='told'))\n"
        "opened = [os.open(os.devnull, os.O_RDWR) for _ in range(3)]\n"
        "os._exit(0 if opened == [0, 1, 2] else 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "j")])
    assert done.returncode == 0
    assert [entry.event for entry in reader.read(tmp_path / "j")] == [Note(text="told")]


def _leads_to(number: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except OSError:
        return False
