"""Every event of the journal."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import events, reader
from holdfast.journal.events import (
    EVENTS,
    Event,
    NonFiniteSeen,
    RunOpened,
)
from holdfast.journal.writer import JournalWriter


def write(path: Path, *written: Event, by: str = "test") -> None:
    writer = JournalWriter(path, by=by)
    for event in written:
        writer.append(event)
    writer.close()


def test_every_kind_of_event_survives_the_round_trip(tmp_path: Path) -> None:
    written = [kind() for kind in EVENTS]
    write(tmp_path / "j", *written)
    assert [entry.event for entry in reader.read(tmp_path / "j")] == written


def test_a_kind_is_the_class_name_in_snake_case_and_unique() -> None:
    assert RunOpened.kind == "run_opened"
    assert NonFiniteSeen.kind == "non_finite_seen"
    assert len({event.kind for event in EVENTS}) == len(EVENTS)
    named = {value for value in vars(events).values() if isinstance(value, type) and issubclass(value, Event)}
    assert named - {Event} == set(EVENTS), "every event can be had as events.NAME"


def test_every_field_has_a_default_so_that_other_versions_can_be_read() -> None:
    for event in EVENTS:
        assert event() is not None
        assert event.fields, event
