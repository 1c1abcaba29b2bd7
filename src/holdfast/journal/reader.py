"""Reads a journal: finished or growing, cut off, or written by another version."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast import regular_file
from holdfast.errors import JournalTooNew
from holdfast.journal import events, version_0_1
from holdfast.journal.events import Event, RunOpened
from holdfast.journal.typed_values import LARGEST, fitting

MOST_BYTES = 256 << 20  # of a journal: a run of a month writes a few
_LINE_BYTES = 4 << 20
_LAST_TIME = 1e11  # seconds; a calendar ends soon after
_NOTE_OF_VERSION_0_1 = "note_made"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a journal: an event, who wrote it and when."""

    line: int  # counted from 1, so that a person can open it
    at: float  # seconds since 1970, by the wall clock
    mono: float  # by the machine's monotonic clock, the same for all its processes
    by: str
    pid: int
    attempt: int
    event: Event
    misfits: int = 0  # values of another type than their fields have: they were left out


def read(path: Path) -> list[Entry]:
    """All complete events. A line that is cut off or of an unknown kind is skipped."""
    return list(decode(read_lines(path)[:-1], path=path))


def read_lines(path: Path) -> list[bytes]:
    """The last one has no end. OSError where the journal is not a regular file, or longer than any is."""
    return regular_file.read_bytes(path, most=MOST_BYTES, links=False).split(b"\n")


def decode(lines: Iterable[bytes], *, first_line: int = 1, path: Path | None = None) -> Iterator[Entry]:
    """Entries of complete lines; the caller drops the part after the last line break."""
    for number, line in enumerate(lines, start=first_line):
        entry = _entry(line, number)
        if entry is None:
            continue
        if isinstance(entry.event, RunOpened) and entry.event.version > events.FORMAT_VERSION:
            raise JournalTooNew(
                f"the journal has format {entry.event.version}; this Holdfast reads up to {events.FORMAT_VERSION}",
                where=f"{path or 'journal'}:{number}",
                found=f"written by Holdfast {entry.event.holdfast}",
                change="pip install --upgrade holdfast",
            )
        yield entry


def _entry(line: bytes, number: int) -> Entry | None:
    if len(line) > _LINE_BYTES:
        return None
    try:
        obj: Any = regular_file.parse_json(line)
        event, misfits = _event(obj["kind"], obj["event"])
        if event is None:
            return None
        return Entry(
            line=number,
            at=_time(obj["at"]),
            mono=_time(obj["mono"]),
            by=str(obj["by"]),
            pid=_count(obj["pid"]),
            attempt=_count(obj["attempt"]),
            event=event,
            misfits=misfits,
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None


def _event(kind: str, values: events.Json) -> tuple[Event | None, int]:
    if kind == _NOTE_OF_VERSION_0_1:
        event = version_0_1.event_of(values)
        known, values = type(event), events.payload(event)
    else:
        found = events.class_of(kind)
        if found is None:
            return None, 0
        known = found
    kept, misfits = fitting(known, values)
    return known(**kept), misfits


def _time(value: Any) -> float:
    at = float(value)
    if not math.isfinite(at) or abs(at) > _LAST_TIME:
        raise ValueError("no time")
    return at


def _count(value: Any) -> int:
    count = int(value)
    if not 0 <= count < LARGEST:
        raise ValueError("no count")
    return count


class Follower:
    """Reads a growing journal: `poll` returns what has been added since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._line = 1

    def poll(self) -> list[Entry]:
        try:
            with regular_file.open_regular(self._path, links=False) as file:
                file.seek(self._offset)
                added = file.read(MOST_BYTES)
        except FileNotFoundError:
            return []
        *lines, _partial_line = added.split(b"\n")
        first_line = self._line
        self._offset += sum(len(line) + 1 for line in lines)
        self._line += len(lines)
        return list(decode(lines, first_line=first_line, path=self._path))
