"""Journals: whole, torn at every byte, of another version, growing, and written by two at once."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import JournalTooNew
from holdfast.journal import events, reader
from holdfast.journal.events import (
    EVENTS,
    EpochDone,
    Event,
    NonFiniteSeen,
    Note,
    RunOpened,
    SaveDone,
    StopRequested,
)
from holdfast.journal.writer import JournalWriter, encode

_json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_events = st.one_of(
    st.builds(
        StopRequested,
        by=st.text(max_size=60),
        settings=st.dictionaries(st.text(max_size=8), _json_values, max_size=3),
    ),
    st.builds(EpochDone, epoch=st.integers(0, 10**6), steps=st.integers(0, 10**9)),
    st.builds(RunOpened, name=st.text(max_size=30), command=st.lists(st.text(max_size=9), max_size=4)),
)


def write(path: Path, *written: Event, by: str = "test") -> None:
    writer = JournalWriter(path, by=by)
    for event in written:
        writer.append(event)
    writer.close()


def test_an_event_comes_back_with_who_said_it_and_when(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j", by="probe", attempt=3, wall=lambda: 100.5, monotonic=lambda: 7.25)
    writer.append(EpochDone(fit=1, epoch=4, steps=15, planned_steps=20, logs={"loss": 0.25}))
    [entry] = reader.read(tmp_path / "j")
    assert (entry.line, entry.at, entry.mono, entry.by, entry.attempt) == (1, 100.5, 7.25, "probe", 3)
    assert entry.event == EpochDone(fit=1, epoch=4, steps=15, planned_steps=20, logs={"loss": 0.25})


def test_every_kind_of_event_survives_the_round_trip(tmp_path: Path) -> None:
    written = [kind() for kind in EVENTS]
    write(tmp_path / "j", *written)
    assert [entry.event for entry in reader.read(tmp_path / "j")] == written


def test_a_kind_is_the_class_name_in_snake_case_and_stands_once() -> None:
    assert RunOpened.kind == "run_opened"
    assert NonFiniteSeen.kind == "non_finite_seen"
    assert len({event.kind for event in EVENTS}) == len(EVENTS)
    named = {value for value in vars(events).values() if isinstance(value, type) and issubclass(value, Event)}
    assert named - {Event} == set(EVENTS), "every event can be had as events.NAME"


def test_every_field_has_a_default_so_that_other_versions_can_be_read() -> None:
    for event in EVENTS:
        assert event() is not None
        assert event.fields, event


def test_what_json_cannot_say_is_said_in_words(tmp_path: Path) -> None:
    write(tmp_path / "j", NonFiniteSeen(last_finite=math.inf, recent=[1.0, -math.inf, math.nan]))
    [line] = (tmp_path / "j").read_text().splitlines()
    assert "NaN" not in line
    assert "Infinity" not in line
    assert json.loads(line)["event"]["recent"] == [1.0, "-inf", "nan"]


@given(st.lists(_events, min_size=1, max_size=5), st.data())
@settings(max_examples=60, deadline=None)
def test_any_prefix_of_a_journal_is_readable(written: list[Event], data: st.DataObject) -> None:
    lines = [encode(event, at=1.0, mono=2.0, by="t", pid=1, attempt=1) for event in written]
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    kept = list(reader.decode(whole[:cut].split(b"\n")[:-1]))
    ends = [sum(map(len, lines[: n + 1])) for n in range(len(lines))]
    assert len(kept) == sum(end <= cut for end in ends)
    assert [entry.event for entry in kept] == written[: len(kept)]


def test_a_journal_cut_at_every_byte_gives_every_whole_event_before_the_cut(tmp_path: Path) -> None:
    write(
        tmp_path / "whole",
        RunOpened(name="naïve — 雪"),
        EpochDone(steps=3),
        Note(text="x\ny"),
        SaveDone(path="a"),
    )
    data = (tmp_path / "whole").read_bytes()
    for cut in range(len(data) + 1):
        (tmp_path / "cut").write_bytes(data[:cut])
        assert len(reader.read(tmp_path / "cut")) == data[:cut].count(b"\n")


def test_writing_goes_on_after_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, EpochDone(epoch=1), EpochDone(epoch=2))
    path.write_bytes(path.read_bytes()[:-10])
    write(path, EpochDone(epoch=3))
    assert [entry.event.epoch for entry in reader.read(path)] == [1, 3]  # type: ignore[attr-defined]
    assert [entry.line for entry in reader.read(path)] == [1, 3]


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_rubbish_is_passed_over(rubbish: bytes) -> None:
    whole = encode(Note(text="kept"), at=1.0, mono=1.0, by="t", pid=1, attempt=1)
    entries = list(reader.decode((rubbish + b"\n" + whole).split(b"\n")[:-1]))
    assert entries[-1].event == Note(text="kept")


@pytest.mark.parametrize(
    "line",
    [b"[]", b"1", b"null", b'"text"', b"{}", b'{"kind": 3, "event": {}}', b'{"kind": "epoch_done", "event": []}',
     b'{"kind": "epoch_done", "event": {}, "at": "x", "mono": 0, "by": "", "pid": 1, "attempt": 1}', b"[" * 5000],
)  # fmt: skip
def test_json_of_another_shape_is_passed_over(line: bytes) -> None:
    assert list(reader.decode([line])) == []


def test_kinds_and_fields_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    known = json.loads(encode(EpochDone(epoch=7), at=1.0, mono=1.0, by="t", pid=1, attempt=1))
    known["event"]["colour"] = "blue"
    unknown = {**known, "kind": "moon_seen"}
    (tmp_path / "j").write_text(json.dumps(unknown) + "\n" + json.dumps(known) + "\n")
    [entry] = reader.read(tmp_path / "j")
    assert entry.event == EpochDone(epoch=7)
    assert entry.line == 2


def test_a_format_that_would_be_misread_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "j", RunOpened(version=events.FORMAT_VERSION + 1, holdfast="9.0"))
    with pytest.raises(JournalTooNew, match="this Holdfast reads up to"):
        reader.read(tmp_path / "j")


def test_following_a_growing_journal(tmp_path: Path) -> None:
    path = tmp_path / "j"
    follower = reader.Follower(path)
    assert follower.poll() == []
    line = encode(EpochDone(epoch=1), at=1.0, mono=1.0, by="t", pid=1, attempt=1)
    path.write_bytes(line + line[:10])
    assert [entry.line for entry in follower.poll()] == [1]
    assert follower.poll() == []
    with path.open("ab") as file:
        file.write(line[10:] + line)
    assert [entry.line for entry in follower.poll()] == [2, 3]


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


def test_a_writer_that_nobody_holds_gives_its_descriptor_back(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for number in range(20):
        JournalWriter(tmp_path / f"{number}.jsonl", by="trainer").append(RunOpened())
    assert len(os.listdir("/proc/self/fd")) == before


def open_descriptors() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd")]


def test_a_file_of_the_scripts_own_that_got_our_number_is_not_written_to(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j", by="probe")
    writer.append(EpochDone(epoch=1))
    [ours] = [number for number in open_descriptors() if _leads_to(number, tmp_path / "j")]
    os.close(ours)
    with (tmp_path / "data.bin").open("w+b", buffering=0) as data:
        assert data.fileno() == ours
        data.write(b"precious\n")
        writer.append(EpochDone(epoch=2))
        writer.append(EpochDone(epoch=3))
        writer.close()
        assert (tmp_path / "data.bin").read_bytes() == b"precious\n"
        data.write(b"and open\n")
    assert [entry.event.epoch for entry in reader.read(tmp_path / "j")] == [1, 2, 3]  # type: ignore[attr-defined]


def test_a_writer_that_nobody_holds_leaves_a_file_of_the_scripts_own_open(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j", by="probe")
    [ours] = [number for number in open_descriptors() if _leads_to(number, tmp_path / "j")]
    os.close(ours)
    with (tmp_path / "data.bin").open("w+b", buffering=0) as data:
        assert data.fileno() == ours
        del writer
        data.write(b"precious\n")
    assert (tmp_path / "data.bin").read_bytes() == b"precious\n"


def test_a_journal_that_was_closed_and_removed_is_not_written_anew(tmp_path: Path) -> None:
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
