"""The last good run of the same script, found among the neighbouring folders."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.explain.compare.differences import Comparison, compare
from holdfast.explain.compare.portrait import portray
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Verdict
from holdfast.explain.gather import gather, sources
from holdfast.journal import reader
from holdfast.journal.events import RunOpened
from holdfast.journal.folder import RunFolder
from holdfast.regular_file import open_regular
from holdfast.user_code import script_words

_LOOK_AT = 200  # neighbours, the newest first
_WEIGH = 3  # of them read whole
_END_BYTES = 16 << 10
_LINE_BYTES = 1 << 20
#: Programs whose `-c` takes the script itself.
_INTERPRETER = re.compile(r"(?:python|pypy|bash|dash|zsh|ksh|sh|perl|ruby|node)[\d.]*$")


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
        if first is None or script_of(first.event.command) != ours:
            continue
        if first.at >= opened.at or not _ended_well(folder):
            continue
        weighed += 1
        try:
            found = gather(folder.path, now=evidence.now)
            if judge(found).went_well:
                return found
        except Exception:  # a neighbour that is damaged, or may not be read, is no last good run
            continue
        if weighed >= _WEIGH:
            break
    return None


def script_of(command: list[Any]) -> tuple[str, ...]:
    """The command without the path of its interpreter, and without settings that vary from run to run."""
    words = [str(word) for word in command]
    program = os.path.basename(words[0]) if words else ""
    if _INTERPRETER.match(program) and any(word in ("-c", "-e") for word in words[1:]):
        return (program, *words[1:])  # the text on the command line is all of the script
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


class _Opened(NamedTuple):
    at: float
    event: RunOpened


def _first_event(folder: RunFolder) -> _Opened | None:
    try:
        with open_regular(folder.journal, links=False) as file:
            entries = list(reader.decode([file.readline(_LINE_BYTES)]))
    except (OSError, HoldfastError):  # the latter for a newer version's
        return None
    return next((_Opened(one.at, one.event) for one in entries if isinstance(one.event, RunOpened)), None)


def _ended_well(folder: RunFolder) -> bool:
    try:
        with open_regular(folder.journal, links=False) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _END_BYTES))
            end = file.read()
    except OSError:
        return False
    return b'"kind": "attempt_ended"' in end and b'"exit_code": 0' in end
