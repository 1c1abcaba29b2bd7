"""Reads a run's folder into `Evidence`. The only part of `explain` that touches the world."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast import regular_file
from holdfast.errors import NotARun, PathMissing, nearest
from holdfast.explain.evidence import Attempt, Evidence, Sources
from holdfast.explain.finding import Fact
from holdfast.explain.from_log import course_of
from holdfast.explain.readings import error, output
from holdfast.explain.readings.recorded import Recorded
from holdfast.host import machine_limits, procfs
from holdfast.journal import events as ev
from holdfast.journal import reader, stack_files, thinned
from holdfast.journal.beats import Beat, BeatReader
from holdfast.journal.folder import RunFolder
from holdfast.journal.reader import Entry
from holdfast.journal.typed_values import plain
from holdfast.printed.log_scan import scan

_BEATS = 800  # the newest; older ones are in the samples
_FATAL_CHARACTERS = 200_000
_FIRST_BYTES = 64 << 10
_RESULT_BYTES = 1 << 20
_FATAL_BYTES = 16 << 20
_MOST_SCRIPTS, _SCRIPT_BYTES = 50, 1 << 20
#: Seconds after the start of an attempt by which its process must have started; a later one was given its number.
_STARTED_WITHIN_S = 60


def gather(path: Path, *, now: float, attempt: int | None = None) -> Evidence:
    """The evidence of the run in this folder, of its last attempt where none is named."""
    folder = RunFolder(path)
    if not path.is_dir() or not folder.is_run:
        raise _no_run(path) if path.exists() else _missing(path)
    missing: list[Fact] = []
    entries = _journal(folder.journal, missing)
    number = attempt or max((entry.attempt for entry in entries), default=1)
    last = [one for one in entries if one.attempt == number or isinstance(one.event, ev.RunOpened)]
    evidence = Evidence(
        name=folder.name,
        path=path,
        now=now,
        entries=tuple(map(_recorded, last)),
        earlier=_earlier(entries, number),
        samples=tuple(pair for pair in thinned.samples(folder.vitals) if pair[1].attempt == number),
        beats=_beats(folder.beats, number),
        output=output.read(folder.output),
        saved=_saved(folder.checkpoints),
    )
    alive, same_boot = _still_there(evidence)
    return replace(
        evidence,
        entries=evidence.entries + (_printed_course(folder.output, evidence) if number == 1 else ()),
        captures=_captures(folder.stacks, evidence),
        fatal=_fatal(folder, evidence),
        experiment=_experiment(folder.experiment_result) if evidence.last(ev.ExperimentKept) else None,
        alive=alive,
        same_boot=same_boot,
        missing=(*missing, *_strange_files(folder), *_absent(folder, evidence)),
    )


#: What says from inside that a run trains.
_TRAINS = (ev.FitStarted, ev.LoopSeen, ev.LossSeen, ev.EpochDone, ev.DatasetSeen, ev.ModelSeen, ev.FitDone)


def _printed_course(path: Path, evidence: Evidence) -> tuple[Recorded[Any], ...]:
    """What the command printed of its training, where nothing inside reports any."""
    entries = evidence.entries
    reported = any(isinstance(one.event, _TRAINS) for one in entries)
    if not entries or reported or any(one.step for one in evidence.beats):
        return ()
    try:
        with regular_file.open_regular(path, links=False) as file:
            if os.fstat(file.fileno()).st_size > output.MOST_OUTPUT_BYTES:
                return ()
            log = scan(file, file.read(_FIRST_BYTES))
    except OSError:
        return ()
    began, last = entries[0], entries[-1]
    return course_of(log, name=path.name, at=last.at, began_mono=began.mono, ended_mono=last.mono)


def _missing(path: Path) -> PathMissing:
    close = _nearest_run(path, path.parent) or _nearest_run(path, Path("runs"))
    return PathMissing(
        f"there is no run at {path}",
        where=path,
        found=f"the nearest is {close}" if close else "",
        change=f"give {close}" if close else "holdfast run -- python train.py makes one",
    )


def _nearest_run(path: Path, among: Path) -> Path | None:
    close = nearest(path.name, [run.name for run in _runs_in(among)])
    return among / close if close else None


def _no_run(path: Path) -> NotARun:
    """Often it is the folder that holds the runs."""
    below = _runs_in(path)
    if below:
        newest = max(below, key=lambda run: run.stat().st_mtime)
        return NotARun(
            f"{path} holds runs, and is not one itself",
            where=path,
            found=f"{len(below)} runs in it; {newest.name} is the newest",
            change=f"give one of them: {newest}",
        )
    nothing = "no journal.jsonl, beats, vitals.jsonl or output.log in it"
    return NotARun(
        f"{path} is not the folder of a run",
        where=path,
        found=nothing if path.is_dir() else "it is a file",
        change=[f"give the log: {log}" for log in _logs_in(path)[:1]]
        or "give a folder that `holdfast run` or `holdfast train` made, or a log file",
    )


def _logs_in(path: Path) -> list[Path]:
    """The newest first."""
    logs = [one for ending in ("*.log", "*.out") for one in path.glob(ending) if one.is_file()]
    return sorted(logs, key=lambda one: one.stat().st_mtime, reverse=True)


def _runs_in(path: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(path) if RunFolder(Path(entry.path)).is_run]
    except OSError:
        return []


def sources(path: Path) -> Sources:
    """The texts that a run was started with, for comparing it with another."""
    folder = RunFolder(path)
    scripts: dict[str, str] = {}
    for name in regular_file.names_in(folder.source)[:_MOST_SCRIPTS]:
        with contextlib.suppress(OSError):
            scripts[name] = regular_file.read_text(folder.source / name, most=_SCRIPT_BYTES, links=False)
    return Sources(scripts, _recipe(folder.recipe))


def _recipe(path: Path) -> dict[str, Any]:
    """The resolved settings of our own trainer, as "train.batch"."""
    if not path.is_file():
        return {}
    import tomllib

    tables: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError, RecursionError):
        tables = tomllib.loads(regular_file.read_text(path, most=_SCRIPT_BYTES, links=False))
    parts = [(name, values) for name, values in tables.items() if isinstance(values, dict)]
    return {f"{table}.{name}": value for table, values in parts for name, value in values.items()}


def _recorded(entry: Entry) -> Recorded[Any]:
    return Recorded(entry.event, entry.line, entry.at, entry.mono, entry.by, entry.pid, entry.attempt)


def _journal(path: Path, missing: list[Fact]) -> list[Entry]:
    try:
        lines = reader.read_lines(path)
    except PermissionError:
        raise  # what is in it may be the end of the run: without it nothing can be said
    except OSError as error:
        missing.append(Fact("missing.journal", {"error": error.strerror or str(error)}))
        return []
    if lines[-1]:
        missing.append(Fact("journal.cut-off", {"line": len(lines)}))
    lines.pop()
    wanted = thinned.journal_lines(lines)
    decoded = (reader.decode([lines[number]], first_line=number + 1, path=path) for number in wanted)
    entries = [entry for found in decoded for entry in found]
    if len(entries) < len(wanted):
        missing.append(Fact("journal.unreadable", {"lines": len(wanted) - len(entries)}))
    if misfits := [entry for entry in entries if entry.misfits]:
        values = {"values": sum(entry.misfits for entry in misfits)}
        missing.append(Fact("journal.wrong-types", values, f"journal.jsonl:{misfits[0].line}"))
    return entries


def _beats(path: Path, attempt: int) -> tuple[Beat, ...]:
    ring = BeatReader(path)
    try:
        newest = ring.newest()
        oldest = max(0, newest.sequence - _BEATS) if newest is not None else 0
        return tuple(beat for beat in ring.beats_since(oldest) if beat.attempt == attempt & 0xFFFF)
    finally:
        ring.close()


def _captures(folder: Path, evidence: Evidence) -> tuple[tuple[str, stack_files.Capture], ...]:
    """The captures of this attempt; the newest few, since each may be large."""
    named = [one.event.file for one in evidence.all(ev.StacksCaptured)]
    named += [name for one in evidence.all(ev.Stalled) for name in one.event.stacks]
    there = {name for name in regular_file.names_in(folder) if name.endswith(".json")}
    if not evidence.entries:
        named = sorted(there)
    newest = list(dict.fromkeys(Path(name).name for name in named))[-3:]
    found = [(name, stack_files.read(folder / name)) for name in newest if name in there]
    return tuple((name, capture) for name, capture in found if capture is not None)


def _fatal(folder: RunFolder, evidence: Evidence) -> error.Fatal | None:
    """What the fault handler of one of this attempt's processes wrote when it crashed; the trainer's before others'."""
    trainers = [one.pid for one in evidence.all(ev.FitStarted)]
    joined = [one.pid for one in evidence.all(ev.ProcessJoined)]
    if folder.stacks.is_symlink():
        return None
    for pid in dict.fromkeys([*reversed(trainers), *joined]):
        path = folder.fault_file(pid)
        with contextlib.suppress(OSError):
            text = regular_file.read_text(path, most=_FATAL_BYTES, links=False)[-_FATAL_CHARACTERS:]
            if (found := error.read_fatal(text, source=f"stacks/{path.name}")) is not None:
                return found
    return None


def _still_there(evidence: Evidence) -> tuple[bool | None, bool | None]:
    """Whether the process lives and the machine has not restarted; None where it cannot be known from here."""
    if evidence.ended is not None:
        return False, None
    opened, started = evidence.opened, evidence.last(ev.AttemptStarted)
    if opened is None or not opened.event.boot_id:
        return None, None
    if opened.event.boot_id != machine_limits.boot_id():
        return (False, False) if opened.event.host == os.uname().nodename else (None, None)
    if started is None:
        return None, True
    stat = procfs.stat(started.event.pid)
    in_time = stat is not None and stat.started_s <= started.mono + _STARTED_WITHIN_S
    return stat is not None and stat.state != "Z" and in_time, True


def _experiment(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError):
        if path.parent.is_symlink():
            return None
        found = plain(regular_file.read_json(path, most=_RESULT_BYTES, links=False))
        return found if isinstance(found, dict) else None
    return None


def _saved(checkpoints: Path) -> int | None:
    """The newest step whose checkpoint has its name, which it gets when it is complete."""
    try:
        names = [entry.name for entry in os.scandir(checkpoints) if entry.is_dir()]
    except OSError:
        return None
    return max((int(name[5:]) for name in names if re.fullmatch(r"step-[0-9]{1,15}", name)), default=None)


def _earlier(entries: list[Entry], number: int) -> tuple[Attempt, ...]:
    found = []
    for attempt in sorted({entry.attempt for entry in entries if 0 < entry.attempt < number}):
        own = [entry.event for entry in entries if entry.attempt == attempt]
        ended = next((event for event in reversed(own) if isinstance(event, ev.AttemptEnded)), None)
        if ended is None and not any(isinstance(event, ev.AttemptStarted) for event in own):
            continue
        steps = [event.steps for event in own if isinstance(event, ev.EpochDone)]
        losses = [event.step for event in own if isinstance(event, ev.LossSeen)]
        word = "not recorded" if ended is None else ended.signal or f"exit code {ended.exit_code}"
        said = next((one for one in reversed(own) if isinstance(one, ev.SchedulerAnswered)), None)
        if said is not None and said.why:
            word += f" ({', '.join([said.why, *said.failed_nodes])})"
        counted = [ended.step] if ended is not None and ended.step else []
        reached = max([sum(steps), *losses, *counted]) if steps or losses or counted else None
        found.append(Attempt(attempt, word, ended.duration_s if ended else None, reached))
    return tuple(found)


def _strange_files(folder: RunFolder) -> list[Fact]:
    """What is no regular file in the place of one: a link, a FIFO, a device. None of it is read."""
    found = []
    for path in (folder.vitals, folder.beats, folder.output, folder.recipe):
        if not os.path.lexists(path):
            continue
        try:
            regular_file.open_regular(path, links=False).close()
        except OSError as error:
            values = {"file": path.name, "error": error.strerror or str(error)}
            found.append(Fact("file.not-read", values))
    return found


def _absent(folder: RunFolder, evidence: Evidence) -> list[Fact]:
    absent = {
        "missing.samples": not evidence.samples,
        "missing.heartbeats": not evidence.beats and (evidence.probed or not evidence.beside),
        "missing.output": not folder.output.exists() and not evidence.beside,
    }
    return [Fact(kind) for kind, is_absent in absent.items() if is_absent]
