"""Reads a journal: finished or growing, cut off, or written by another version."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import JournalTooNew
from holdfast.journal import events, version_0_1
from holdfast.journal.events import Event, RunOpened

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


def read(path: Path) -> list[Entry]:
    """All complete events. A line that is cut off or of an unknown kind is skipped."""
    return list(decode(path.read_bytes().split(b"\n")[:-1], path=path))


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
    try:
        obj: Any = json.loads(line)
        event = _event(obj["kind"], obj["event"])
        if event is None:
            return None
        return Entry(
            line=number,
            at=float(obj["at"]),
            mono=float(obj["mono"]),
            by=str(obj["by"]),
            pid=int(obj["pid"]),
            attempt=int(obj["attempt"]),
            event=event,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _event(kind: str, values: events.Json) -> Event | None:
    if kind == _NOTE_OF_VERSION_0_1:
        return version_0_1.event_of(values)
    return events.from_json(kind, values)


class Follower:
    """Reads a growing journal: `poll` returns what has been added since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._line = 1

    def poll(self) -> list[Entry]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                added = file.read()
        except FileNotFoundError:
            return []
        *lines, _partial_line = added.split(b"\n")
        first_line = self._line
        self._offset += sum(len(line) + 1 for line in lines)
        self._line += len(lines)
        return list(decode(lines, first_line=first_line, path=self._path))
