"""The list of all runs, kept current by one thread for each place while somebody looks.

Each change of a row gets the next version, and a page asks for what is newer than the version it has: a look costs by
what has changed, not by how many runs there are. A place that hangs (a dead mount) holds up its own thread alone.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.board import run_places, run_row
from holdfast.board.run_places import RunPlace
from holdfast.journal.folder import RunFolder

_TICK_S = 1.0
_UNSEEN_S = 30.0  # nobody has asked for so long: the threads rest until somebody does
_FIND_EVERY_S = 30.0
_RESTING_SHARE = 10  # of the runs that do not move, a tenth is looked at each second
_WARM_S = 60.0  # what was written lately is looked at each second
_HUNG_S = 8.0
_MOST_TOMBSTONES = 5000

Stamp = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class _Known:
    folder: RunFolder
    stamp: Stamp = ()
    live: bool = False
    changed: float = 0.0
    text: str = ""  # the row as JSON
    version: int = 0


@dataclass(slots=True)
class _PlaceState:
    place: RunPlace
    known: dict[str, _Known] = field(default_factory=dict)
    groups: dict[Path, int] = field(default_factory=dict)
    found_at: float = 0.0
    complete: bool = False
    trouble: str = ""
    busy_since: float = 0.0  # by the monotonic clock; 0.0 while it rests
    next_resting: int = 0


class RunList:
    """Rows of the runs in several places."""

    def __init__(self, places: Iterable[RunPlace], *, wall: Callable[[], float] = time.time) -> None:
        self._places = [_PlaceState(place) for place in places]
        self._wall = wall
        self._lock = threading.Lock()
        self._version = 0
        self._gone: dict[str, int] = {}
        self._asked_at = 0.0
        self._wanted = threading.Event()
        self._closed = False

    # -- for requests ---------------------------------------------------------------------------------

    def changes(self, since: int, most: int | None = None) -> str:
        """JSON of the rows that are newer than this version, of the ids that are gone, and of the places.

        With `most` only so many, those that changed last; the page then asks for all.
        """
        self._asked_at = time.monotonic()
        self._wanted.set()
        with self._lock:
            newer = [
                known for state in self._places for known in state.known.values() if known.version > since
            ]
            newer.sort(key=lambda known: -known.changed)
            gone = [name for name, version in self._gone.items() if version > since] if since else []
            version = self._version if most is None or len(newer) <= most else 0
        newer = newer[:most]
        head = {
            "version": version,
            "gone": gone,
            "complete": all(state.complete or state.trouble for state in self._places),
            "places": [self._place_json(state) for state in self._places],
            "now": round(self._wall(), 1),
        }
        rows = ",".join(known.text for known in newer)
        return f'{json.dumps(head)[:-1]}, "rows": [{rows}]}}'.replace("<", "\\u003c")

    def _place_json(self, state: _PlaceState) -> dict[str, Any]:
        return {"label": state.place.label, "path": str(state.place.path), "runs": len(state.known),
                "trouble": self.trouble(state.place)}  # fmt: skip

    def trouble(self, place: RunPlace) -> str:
        """Why this place cannot be read now; "" where it can."""
        state = next(one for one in self._places if one.place == place)
        busy = time.monotonic() - state.busy_since if state.busy_since else 0.0
        return f"does not answer for {busy:.0f} s" if busy > _HUNG_S else state.trouble

    def folder(self, name: str) -> tuple[RunPlace, RunFolder] | None:
        """The place and the folder of the run with this id."""
        with self._lock:
            for state in self._places:
                if name in state.known:
                    return state.place, state.known[name].folder
        return None

    def ids_of(self, paths: set[str]) -> list[str]:
        """Of the run folders with these paths."""
        if not paths:
            return []
        with self._lock:
            known = [pair for state in self._places for pair in state.known.items()]
        return [name for name, one in known if str(one.folder.path) in paths]

    def row_version(self, name: str) -> int:
        with self._lock:
            return max((s.known[name].version for s in self._places if name in s.known), default=0)

    # -- keeping it current ---------------------------------------------------------------------------

    def start(self) -> None:
        self._asked_at = time.monotonic()
        for state in self._places:
            threading.Thread(target=self._watch, args=(state,), daemon=True, name="board-watch").start()

    def close(self) -> None:
        self._closed = True
        self._wanted.set()

    def _watch(self, state: _PlaceState) -> None:
        while not self._closed:
            if time.monotonic() - self._asked_at > _UNSEEN_S:
                self._wanted.clear()
                self._wanted.wait()
            began = time.monotonic()
            state.busy_since = began
            try:
                self.refresh(state)
            except Exception as error:  # the list of this place does not change, and says so
                state.trouble = f"{type(error).__name__}: {error}"
            state.busy_since = 0.0
            time.sleep(max(0.1, _TICK_S - (time.monotonic() - began)))

    def refresh_all(self) -> None:
        for state in self._places:
            self.refresh(state)

    def refresh(self, state: _PlaceState) -> None:
        """One look at a place: new and gone runs, then those that may have changed."""
        try:
            self._find(state)
            state.trouble = ""
        except OSError as error:
            state.trouble = error.strerror or str(error)
            return
        now = self._wall()
        for name in self._due(state, now):
            known = state.known.get(name)
            if known is not None and not self._closed:
                self._look(name, known, state.place, now)
        state.complete = True

    def _find(self, state: _PlaceState) -> None:
        now = time.monotonic()
        fresh = now - state.found_at < _FIND_EVERY_S
        if state.found_at and fresh and all(_changed_ns(path) == ns for path, ns in state.groups.items()):
            return
        found = run_places.find(state.place)
        state.found_at, state.groups = now, found.groups
        with self._lock:
            for name in [name for name in state.known if name not in found.runs]:
                del state.known[name]
                self._gone[name] = self._next()
            for name, folder in found.runs.items():
                if name not in state.known:
                    state.known[name] = _Known(folder)
                    self._gone.pop(name, None)
            if len(self._gone) > _MOST_TOMBSTONES:
                self._gone = dict(list(self._gone.items())[-_MOST_TOMBSTONES // 2 :])

    def _due(self, state: _PlaceState, now: float) -> list[str]:
        """All that move, all that were never read, and a share of the others in turn."""
        names = list(state.known)
        first = [
            name
            for name in names
            if not state.known[name].text
            or state.known[name].live
            or now - state.known[name].changed < _WARM_S
        ]
        share = -(-len(names) // _RESTING_SHARE)
        begin = state.next_resting if state.next_resting < len(names) else 0
        state.next_resting = begin + share
        chosen = set(first)
        return first + [name for name in names[begin : begin + share] if name not in chosen]

    def _look(self, name: str, known: _Known, place: RunPlace, now: float) -> None:
        stamp = _stamp(known.folder)
        ages = known.live and now - known.changed > run_row.FRESH_S
        if known.text and stamp == known.stamp and not ages:
            return
        row = run_row.read_row(known.folder, now)
        text = json.dumps({"id": name, "place": place.label, **row}, allow_nan=False)
        known.stamp, known.live = stamp, row.get("live") is True
        known.changed = float(row.get("changed") or 0.0)
        if text != known.text:
            with self._lock:
                known.text, known.version = text, self._next()

    def _next(self) -> int:
        self._version += 1
        return self._version


def _stamp(folder: RunFolder) -> Stamp:
    """When the records of a run were last written and how long they are."""
    found = []
    for path in (folder.journal, folder.vitals, folder.verdict, folder.output):
        try:
            known = os.lstat(path)
            found.append((known.st_mtime_ns, known.st_size))
        except OSError:
            found.append((0, 0))
    return tuple(found)


def _changed_ns(path: Path) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1
