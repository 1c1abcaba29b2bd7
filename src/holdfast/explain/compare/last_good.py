"""The last good run of the same script, found among the neighbouring folders."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.explain.compare.differences import Comparison, compare
from holdfast.explain.compare.portrait import portray
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Verdict
from holdfast.explain.gather import gather, sources
from holdfast.journal.folder import RunFolder
from holdfast.user_code import script_words

_LOOK_AT = 200  # neighbours, the newest first
_WEIGH = 3  # of them read whole
_END_BYTES = 16 << 10


@dataclass(frozen=True, slots=True)
class LastGood:
    """What changed since the last run of this script that finished."""

    comparison: Comparison
    old: Path
    new: Path


def since_last_good(evidence: Evidence, judge: Callable[[Evidence], Verdict]) -> LastGood | None:
    good = last_good(evidence, judge)
    if good is None:
        return None
    found = compare(portray(good, sources(good.path)), portray(evidence, sources(evidence.path)))
    return LastGood(found, good.path, evidence.path)


def last_good(evidence: Evidence, judge: Callable[[Evidence], Verdict]) -> Evidence | None:
    opened = evidence.opened
    if opened is None:
        return None
    ours, weighed = script_of(opened.event.command), 0
    for folder in _neighbours(evidence.path):
        first = _first_event(folder)
        if first is None or script_of(first.get("event", {}).get("command", [])) != ours:
            continue
        if float(first.get("at", 0.0)) >= opened.at or not _ended_well(folder):
            continue
        weighed += 1
        try:
            found = gather(folder.path, now=evidence.now)
        except OSError:  # a neighbour that may not be read is no last good run
            continue
        if judge(found).went_well:
            return found
        if weighed >= _WEIGH:
            break
    return None


def script_of(command: list[Any]) -> tuple[str, ...]:
    """The command without the path of its interpreter, and without settings that vary from run to run."""
    words = [str(word) for word in command]
    scripts = [script.word for script in script_words(words, (".py", ".sh", ".ipynb"))]
    return tuple(os.path.basename(word) for word in (scripts or words)[:1])


def _neighbours(path: Path) -> list[RunFolder]:
    own = path.resolve()
    try:
        beside = [entry for entry in os.scandir(own.parent) if entry.is_dir()]
        beside.sort(key=lambda entry: -entry.stat().st_mtime)
    except OSError:
        return []
    others = [Path(entry.path) for entry in beside[:_LOOK_AT]]
    folders = [RunFolder(other) for other in others if other != own]
    # False where it may not be looked into; a Path would raise there.
    return [folder for folder in folders if os.path.exists(folder.journal)]


def _first_event(folder: RunFolder) -> dict[str, Any] | None:
    try:
        with folder.journal.open("rb") as file:
            found = json.loads(file.readline())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("kind") == "run_opened" else None


def _ended_well(folder: RunFolder) -> bool:
    try:
        with folder.journal.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _END_BYTES))
            end = file.read()
    except OSError:
        return False
    return b'"kind": "attempt_ended"' in end and b'"exit_code": 0' in end
