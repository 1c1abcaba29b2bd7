"""Files that the probe found damaged, that callbacks were to write, or that were at hand when an exception left."""

from __future__ import annotations

import errno
import math
import os
import re
from itertools import pairwise
from typing import Any

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.numbers import number_of, whole_or_none
from holdfast.journal import events as ev

_FILES_NAMED = 3
_NUMBERED = re.compile(r"(.*?\D|)([1-9]\d*|0)(\.\w+)")
_FEWEST_NUMBERED = 10
IMAGES = r"jpe?g|png|bmp|gif|webp|tiff?"
RECORDS = r"tfrecords?\S*|records?|tfrec"


def damaged_files(evidence: Evidence) -> list[Fact]:
    searches = evidence.all(ev.BadFilesFound)
    files = [(found, file) for found in searches for file in found.event.files[:_FILES_NAMED]]
    return [
        found.fact(
            "file.damaged",
            path=str(file.get("path")),
            what=file.get("what"),
            offset=whole_or_none(file.get("offset")),
        )
        for found, file in files
    ]


def damaged_file(evidence: Evidence) -> str:
    """The first of the newest search, or ""."""
    searches = [found.event.files for found in evidence.all(ev.BadFilesFound) if found.event.files]
    return str(searches[-1][0].get("path")) if searches else ""


def array_fact(evidence: Evidence, above: float) -> Fact | None:
    """The first whole-number array that reaches this value."""
    seen = evidence.last(ev.AtHandSeen)
    for one in seen.event.arrays if seen is not None else []:
        highest = number_of(one.get("max"))
        if seen is not None and highest is not None and highest >= above and "int" in str(one.get("dtype")):
            return seen.fact("array.reaches", name=one.get("name"), low=one.get("min"), high=highest)
    return None


def never_written_by(evidence: Evidence) -> dict[str, Any] | None:
    """The callback that was to write the file whose absence ended the run, and did not."""
    error = evidence.error
    if error is None:
        return None
    saved = {_normal(save.event.path) for save in evidence.all(ev.SaveDone)}
    missing = [_normal(path) for path in error.paths if _normal(path) not in saved]
    for fit in reversed(evidence.fits):
        for callback in fit.start.callbacks:
            pattern = str(callback.get("settings", {}).get("filepath") or "")
            if pattern and any(_names(pattern, path) for path in missing):
                return callback
    return None


def never_improved(evidence: Evidence) -> bool:
    """That callback writes what is best, and its metric was no number in any epoch: nothing is better than that."""
    callback = never_written_by(evidence)
    settings = callback.get("settings", {}) if callback is not None else {}
    monitor = str(settings.get("monitor") or "")
    values = [number_of(one.event.logs.get(monitor)) for one in evidence.all(ev.EpochDone)]
    broken = bool(values) and all(value is not None and not math.isfinite(value) for value in values)
    return bool(settings.get("save_best_only")) and broken


def is_missed(evidence: Evidence, path: str) -> bool:
    """The run ended because this file is not there."""
    error = evidence.error
    if error is None or error.errno != errno.ENOENT or not path:
        return False
    return any(_names(path, _normal(one)) or _names(one, _normal(path)) for one in error.paths)


def never_written_fact(evidence: Evidence) -> Fact | None:
    callback = never_written_by(evidence)
    if callback is None:
        return None
    settings = callback.get("settings", {})
    done = evidence.last(ev.EpochDone)
    values = {
        "callback": str(callback.get("class")),
        "epochs": len(evidence.all(ev.EpochDone)),
        "save_freq": settings.get("save_freq") if isinstance(settings.get("save_freq"), int) else None,
        "monitor": settings.get("monitor") if settings.get("save_best_only") else None,
    }
    return Fact("checkpoint.never-written", values, done.source if done is not None else "journal.jsonl")


def _names(pattern: str, path: str) -> bool:
    """Whether a name as a callback is given it, with places such as {epoch:02d}, is this path."""
    parts = re.split(r"\{[^{}]*\}", _normal(pattern))
    return re.search(r"(^|/)" + ".*".join(map(re.escape, parts)) + "$", path) is not None


def _normal(path: str) -> str:
    return os.path.normpath(path) if path else ""


def sorted_as_text(evidence: Evidence) -> Fact | None:
    """Names with a number each, all else alike, in the order of text: 10 comes before 2."""
    for seen in evidence.all(ev.DatasetSeen):
        parts = [_NUMBERED.fullmatch(str(name)) for name in seen.event.files]
        if len(parts) < _FEWEST_NUMBERED or any(part is None for part in parts):
            continue
        found = [(part[1], int(part[2]), part[3], part[0]) for part in parts if part is not None]
        alike = len({(before, after) for before, _, after, _ in found}) == 1
        names = [name for _, _, _, name in found]
        turned = [pair for pair in pairwise(found) if pair[0][1] > pair[1][1]]
        if alike and names == sorted(names) and turned:
            first, second = (os.path.basename(one[3]) for one in turned[0])
            return seen.fact("files.sorted-as-text", first=first, second=second)
    return None
