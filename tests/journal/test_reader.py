"""Journals: complete, cut at every byte, of another version, growing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import JournalTooNew
from holdfast.journal import events, reader
from holdfast.journal.events import (
    EpochDone,
    Event,
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


def test_an_event_comes_back_with_its_writer_and_time(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j", by="probe", attempt=3, wall=lambda: 100.5, monotonic=lambda: 7.25)
    writer.append(EpochDone(fit=1, epoch=4, steps=15, planned_steps=20, logs={"loss": 0.25}))
    [entry] = reader.read(tmp_path / "j")
    assert (entry.line, entry.at, entry.mono, entry.by, entry.attempt) == (1, 100.5, 7.25, "probe", 3)
    assert entry.event == EpochDone(fit=1, epoch=4, steps=15, planned_steps=20, logs={"loss": 0.25})


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


def test_a_journal_cut_at_every_byte_gives_every_complete_event_before_the_cut(tmp_path: Path) -> None:
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


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_rubbish_is_skipped(rubbish: bytes) -> None:
    whole = encode(Note(text="kept"), at=1.0, mono=1.0, by="t", pid=1, attempt=1)
    entries = list(reader.decode((rubbish + b"\n" + whole).split(b"\n")[:-1]))
    assert entries[-1].event == Note(text="kept")


@pytest.mark.parametrize(
    "line",
    [b"[]", b"1", b"null", b'"text"', b"{}", b'{"kind": 3, "event": {}}', b'{"kind": "epoch_done", "event": []}',
     b'{"kind": "epoch_done", "event": {}, "at": "x", "mono": 0, "by": "", "pid": 1, "attempt": 1}', b"[" * 5000],
)  # fmt: skip
def test_json_of_another_shape_is_skipped(line: bytes) -> None:
    assert list(reader.decode([line])) == []


def test_kinds_and_fields_of_a_later_version_are_skipped(tmp_path: Path) -> None:
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
