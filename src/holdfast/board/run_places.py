"""The folders of runs that a board shows, and the run folders in them.

A run is known by an id, made of the place's label and its path below it. Requests name ids; paths come from here alone,
so no request leads out of the folders.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.journal.folder import RunFolder

_DEPTH = 3
_MOST_FOLDERS = 50_000  # somebody may name their home, or /
_OWN = ("journal.jsonl", "vitals.jsonl", "beats")


@dataclass(frozen=True, slots=True)
class RunPlace:
    """One folder of runs. `label` is "" where it is the only one."""

    path: Path
    label: str = ""

    def id_of(self, run: Path) -> str:
        below = run.name if run == self.path else str(run.relative_to(self.path))
        return f"{self.label}/{below}" if self.label else below


def places(folders: Iterable[Path]) -> list[RunPlace]:
    """With labels as short as distinguishes them: the shortest ends of their paths that differ."""
    paths = list(dict.fromkeys(folder.resolve() for folder in folders))
    if len(paths) == 1:
        return [RunPlace(paths[0])]
    for length in range(1, max((len(path.parts) for path in paths), default=1) + 1):
        labels = ["/".join(path.parts[-length:]).lstrip("/") for path in paths]
        if len(set(labels)) == len(paths):
            break
    return [RunPlace(path, label) for path, label in zip(paths, labels, strict=True)]


@dataclass(frozen=True, slots=True)
class Found:
    """What one look below a place gave."""

    runs: dict[str, RunFolder]  # by id, those written last first
    groups: dict[Path, int]  # folders that hold others, and when they changed: a new run changes one of them
    cut: bool = False  # there were more folders than are looked at


def find(place: RunPlace) -> Found:
    """Run folders below the place, or itself; links are not followed. OSError where the place cannot be read."""
    found: list[tuple[float, RunFolder]] = []
    groups: dict[Path, int] = {}
    seen = 0
    for folder, names, changed_ns in _walk(place.path):
        seen += 1
        if _is_run(names, root=folder == place.path):
            found.append((_written(folder), RunFolder(folder)))
        else:
            groups[folder] = changed_ns
        if seen >= _MOST_FOLDERS:
            break
    newest_first = sorted(found, key=lambda one: -one[0])
    return Found({place.id_of(run.path): run for _, run in newest_first}, groups, cut=seen >= _MOST_FOLDERS)


def _walk(root: Path) -> Iterator[tuple[Path, set[str], int]]:
    pending = [(root, 0)]
    while pending:
        folder, level = pending.pop()
        try:
            changed_ns = os.stat(folder).st_mtime_ns
            with os.scandir(folder) as entries:
                there = {entry.name: entry for entry in entries}
        except OSError as error:
            if level == 0:
                raise
            if isinstance(error, PermissionError):  # it may be a run of another user: its row says so
                yield folder, {_OWN[0]}, 0
            continue
        yield folder, set(there), changed_ns
        if level < _DEPTH and not _is_run(set(there), root=level == 0):
            with contextlib.suppress(OSError):
                pending += [
                    (folder / name, level + 1)
                    for name, entry in there.items()
                    if entry.is_dir(follow_symlinks=False)
                ]


def _is_run(names: set[str], *, root: bool) -> bool:
    """Below the place an output log alone makes a run; the place itself needs a record of ours."""
    return any(name in names for name in _OWN) or (not root and "output.log" in names)


def _written(folder: Path) -> float:
    times = []
    for name in ("vitals.jsonl", "journal.jsonl", "output.log"):
        with contextlib.suppress(OSError):
            times.append(os.lstat(folder / name).st_mtime)
    return max(times, default=0.0)
