"""All runs below a folder at a glance: one line each, read from the ends of their files.

Hundreds of runs must cost little, and some are being written at this moment: of each only the first and
the last few kilobytes are read, and a finished run is known by its verdict.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from holdfast import regular_file
from holdfast.errors import HoldfastError
from holdfast.journal import events, reader, vitals
from holdfast.journal.folder import RunFolder
from holdfast.journal.typed_values import plain

_HEAD_BYTES = 64 * 1024
_TAIL_BYTES = 96 * 1024
_SAMPLES_BYTES = 16 * 1024  # some samples, for a pace
_HISTORY, _LINE_BYTES = 40, 4096  # points of a sparkline, and more than a sample's line takes
_LOSS = re.compile(rb'"loss": (-?\d[\d.]*(?:[eE][-+]?\d+)?)')
_OVERVIEW_KINDS = (
    b"fit_started",
    b"stalled",
    b"stall_ended",
    b"run_closed",
    b"progress_printed",
)  # the events that a line is made of
_VERDICT_BYTES = 4 << 20
_FRESH_S = 15.0  # a run whose vitals are older than this is not being watched any more


@dataclass(frozen=True, slots=True)
class RunLine:
    name: str
    path: Path
    state: str  # running | stalled | finished | stopped-early | failed | killed | not watched
    step: int
    of: int | None
    seconds_left: float | None
    verdict: str  # the first finding's title, or ""
    losses: tuple[float, ...]  # some, from the first to the last, for a sparkline
    memory_bytes: int
    memory_limit_bytes: int | None
    began_at: float
    changed_at: float
    as_printed: bool = False  # step and total are what the command prints: nothing inside reports them

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "path"}


def find(root: Path, depth: int = 3) -> list[RunFolder]:
    """Run folders below `root` (or `root` itself), newest first; links out of it are not followed.

    Below the root an output log alone makes a run; the root itself needs a record of ours, since somebody's
    own log beside their runs does not make it one.
    """
    found: list[tuple[float, RunFolder]] = []
    pending = [(root, 0)]
    while pending:
        folder, level = pending.pop()
        run = RunFolder(folder)
        times = [at for at, _ in stamp(run)]
        if level == 0:
            times = times if run.journal.is_file() else []
        if any(times):
            found.append((max(times), run))
            continue
        if level < depth:
            try:
                pending += [
                    (Path(e.path), level + 1) for e in os.scandir(folder) if e.is_dir(follow_symlinks=False)
                ]
            except PermissionError:
                if level:  # it may be a run of another user: a line says that it cannot be read
                    found.append((_changed(folder), run))
            except OSError:
                continue
    return [run for _, run in sorted(found, key=lambda one: -one[0])]


def _changed(folder: Path) -> float:
    try:
        return os.stat(folder).st_mtime
    except OSError:
        return 0.0


def stamp(folder: RunFolder) -> list[tuple[float, int]]:
    """When the records of a run were last written and how long they are; zeros for one that is not there."""
    found = []
    for path in (folder.journal, folder.vitals, folder.output, folder.verdict, folder.validation):
        try:
            known = os.stat(path)
            found.append((known.st_mtime, known.st_size))
        except OSError:
            found.append((0.0, 0))
    return found


class RunLineCache:
    """Lines of runs, read again when their records have grown or time alone can change them."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[list[tuple[float, int]], RunLine]] = {}

    def of(self, folder: RunFolder, *, now: float | None = None) -> RunLine:
        written = stamp(folder)
        known = self._known.get(folder.path)
        if known is None or known[0] != written or known[1].state in ("running", "stalled"):
            known = self._known[folder.path] = (written, line(folder, now=now))
        return known[1]


def line(folder: RunFolder, *, now: float | None = None) -> RunLine:
    """A folder that is damaged, or of a newer version, is a line of its own that says so: the others stay."""
    at = time.time() if now is None else now
    try:
        return _line(folder, at)
    except HoldfastError as error:
        return _unreadable(folder, error.what)
    except PermissionError:
        return _unreadable(folder, "permission denied: its records belong to another user")
    except Exception as error:
        return _unreadable(folder, f"its records are damaged: {type(error).__name__}: {error}")


def _unreadable(folder: RunFolder, why: str) -> RunLine:
    return RunLine(folder.name, folder.path, "unreadable", 0, None, None, why[:300], (), 0, None, 0.0, 0.0)


def _line(folder: RunFolder, at: float) -> RunLine:
    head = _entries(folder.journal, first=True)
    tail = _entries(folder.journal, first=False)
    samples = _samples(folder.vitals)
    last = samples[-1] if samples else vitals.Sample()
    verdict = _verdict(folder.verdict)
    step = max(last.step, _whole(verdict.get("step")) or 0)
    of = _whole(verdict.get("of")) or _planned(head + tail)
    printed = _last_printed(tail, last)
    as_printed = not step and bool(printed)
    if as_printed:
        step, of = _printed_position(printed)
    state = _state(verdict, tail, last, at)
    return RunLine(
        name=folder.name,
        path=folder.path,
        state=state,
        step=step,
        of=of,
        seconds_left=_seconds_left(samples, of) if state == "running" and not as_printed else None,
        verdict=_title(verdict),
        losses=_history(folder.vitals),
        memory_bytes=_memory_of(samples, ended=state not in ("running", "stalled")),
        memory_limit_bytes=last.memory_limit_bytes,
        began_at=head[0].at if head else 0.0,
        changed_at=last.at or (tail[-1].at if tail else 0.0),
        as_printed=as_printed,
    )


def _last_printed(tail: list[reader.Entry], last: vitals.Sample) -> dict[str, Any]:
    """In the last sample, or at the end of the command, which may come right after that."""
    later = [one.event for one in tail if isinstance(one.event, events.ProgressPrinted) and one.at > last.at]
    return (
        {name: one for name, one in events.payload(later[-1]).items() if one is not None}
        if later
        else last.printed
    )


def _printed_position(printed: dict[str, Any]) -> tuple[int, int | None]:
    """The step, or the epoch where the command prints only that."""
    unit, total = ("step", "of") if "step" in printed else ("epoch", "of_epochs")
    of = printed.get(total)
    return _whole(printed.get(unit)) or 0, _whole(of) or None


def _memory_of(samples: list[vitals.Sample], *, ended: bool) -> int:
    """The newest; of a run that has ended not the last look, in which the process may have given it back."""
    found = [size for size in map(_memory, reversed(samples)) if size]
    return max(found, default=0) if ended else next(iter(found), 0)


def _memory(sample: vitals.Sample) -> int:
    """0 in the last look at a process that is just ending."""
    return sample.tree_rss_bytes or sample.rss_bytes


def _verdict(path: Path) -> dict[str, Any]:
    try:
        loaded = plain(regular_file.read_json(path, most=_VERDICT_BYTES, links=False))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _whole(value: Any) -> int | None:
    if type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _title(verdict: dict[str, Any]) -> str:
    findings = verdict.get("findings")
    first = findings[0] if isinstance(findings, list) and findings else None
    return str(first.get("title", "")) if isinstance(first, dict) else ""


def _state(verdict: dict[str, Any], tail: list[reader.Entry], last: vitals.Sample, now: float) -> str:
    outcome = verdict.get("outcome") if isinstance(verdict.get("outcome"), str) else ""
    if outcome == "running":  # of a process that was attached to and left
        return "running" if now - last.at <= _FRESH_S else "not watched"
    if outcome:
        return outcome
    ended = [entry.event for entry in tail if isinstance(entry.event, events.RunClosed)]
    if ended:
        return ended[-1].outcome or "ended"
    if now - last.at > _FRESH_S:
        return "not watched"
    moves = [e.event for e in tail if isinstance(e.event, events.Stalled | events.StallEnded)]
    return "stalled" if moves and isinstance(moves[-1], events.Stalled) else "running"


def _planned(entries: list[reader.Entry]) -> int | None:
    for entry in reversed(entries):
        fit = entry.event
        if isinstance(fit, events.FitStarted) and fit.epochs and fit.planned_steps_per_epoch:
            return (fit.epochs - fit.initial_epoch) * fit.planned_steps_per_epoch
    return None


def _seconds_left(samples: list[vitals.Sample], of: int | None) -> float | None:
    """From the pace of the samples at hand; a run that did not move has no time left to tell."""
    if not of or len(samples) < 2:
        return None
    steps, seconds = samples[-1].step - samples[0].step, samples[-1].mono - samples[0].mono
    return (of - samples[-1].step) * seconds / steps if steps > 0 and seconds > 0 else None


def _entries(path: Path, *, first: bool) -> list[reader.Entry]:
    """Of the beginning or of the end: the first line, and those that a line is made of; the rest is not decoded."""
    try:
        with regular_file.open_regular(path, links=False) as file:
            if first:
                lines = file.read(_HEAD_BYTES).split(b"\n")[:-1]
                return list(reader.decode([*lines[:1], *_overview_lines(lines[1:])]))
            lines = _last_lines(file, _TAIL_BYTES)
            return list(reader.decode([*_overview_lines(lines[:-1]), *lines[-1:]]))
    except PermissionError:
        raise
    except OSError:
        return []


def _overview_lines(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if any(kind in line[:40] for kind in _OVERVIEW_KINDS)]


def _samples(path: Path) -> list[vitals.Sample]:
    """Two of the last ones, some seconds apart: enough for where it is and at what pace."""
    try:
        with regular_file.open_regular(path, links=False) as file:
            lines = _last_lines(file, _SAMPLES_BYTES)
    except OSError:
        return []
    found = [vitals.decode(one) for one in [*lines[:1], *lines[-1:]]]
    return [sample for sample in found if sample is not None]


def _history(path: Path) -> tuple[float, ...]:
    """Losses at even distances over the whole run, by a look here and there into a file that may be long."""
    lines: list[bytes] = []
    with contextlib.suppress(OSError), regular_file.open_regular(path, links=False) as file:
        size = file.seek(0, 2)
        if size > _SAMPLES_BYTES:
            for number in range(_HISTORY):
                file.seek(number * size // _HISTORY)
                lines += file.read(_LINE_BYTES).split(b"\n")[1:2]
        lines += _last_lines(file, _LINE_BYTES)[-1:] if lines else _last_lines(file, _SAMPLES_BYTES)
    losses = [_LOSS.search(line) for line in lines]
    found = [_number(loss[1]) for loss in losses if loss is not None]
    return tuple(one for one in found if math.isfinite(one))


def _number(digits: bytes) -> float:
    try:
        return float(digits)
    except ValueError:
        return math.nan


def _last_lines(file: BinaryIO, most: int) -> list[bytes]:
    """Whole lines alone: the first may be cut, the last may be torn."""
    size = file.seek(0, 2)
    file.seek(max(0, size - most))
    lines = file.read().split(b"\n")[:-1]
    return lines[1:] if size > most else lines
