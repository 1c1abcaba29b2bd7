"""Reads a run's folder into `Evidence`. The only part of `explain` that touches the world.

A run of a million steps leaves a journal of some thousand lines and a hundred thousand samples, so both are
thinned while they are read: the beginning and the end whole, the middle at even distances.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.errors import NotARun, PathMissing, nearest
from holdfast.explain.evidence import Attempt, Evidence, Sources
from holdfast.explain.finding import Fact
from holdfast.explain.readings import error, output
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev
from holdfast.journal import reader, stack_files, vitals
from holdfast.journal.beats import Beat, BeatReader
from holdfast.journal.folder import RunFolder
from holdfast.journal.reader import Entry
from holdfast.journal.vitals import Sample

#: Kinds that come once a step or once an epoch; of these the first, the last and some of the middle are enough.
_FREQUENT = frozenset(
    {b"loss_seen", b"epoch_started", b"epoch_done", b"validation_started", b"validation_done", b"save_started",
     b"save_done", b"predict_done", b"batch_seen", b"holdings_seen", b"traces_counted", b"warning_seen", b"note",
     b"note_made", b"group_remark", b"checkpoint_copied", b"copy_failed", b"bad_image_skipped", b"machine_code_counted",
     b"empty_pass_seen", b"exhausted_iterator_used", b"worker_exit_called", b"exit_called", b"micro_batch_set",
     b"fit_started", b"fit_done", b"dataset_seen", b"model_seen", b"pipeline_seen", b"pass_done"}
)  # fmt: skip
_KEEP_OF_A_KIND = 300
_KIND = b'{"kind": "'  # as the writer begins each line
_WHOLE_VITALS_BYTES = 192 << 10
_BEATS = 800  # the newest; older ones are in the samples
_MIDDLE_SAMPLES = 200
_FATAL_CHARACTERS = 200_000


def gather(path: Path, *, now: float) -> Evidence:
    """The evidence of the run in this folder."""
    folder = RunFolder(path)
    if not path.exists():
        close = nearest(path.name, [run.name for run in _runs_in(path.parent)])
        raise PathMissing(
            f"there is no run at {path}",
            where=path,
            found=f"the nearest beside it is {path.parent / close}" if close else "",
            change=f"give {path.parent / close}" if close else "holdfast run -- python train.py makes one",
        )
    if not path.is_dir() or not folder.is_run:
        raise _no_run(path)
    missing: list[Fact] = []
    entries = _journal(folder.journal, missing)
    number = max((entry.attempt for entry in entries), default=1)
    ours = tuple(
        _said(entry) for entry in entries if entry.attempt == number or isinstance(entry.event, ev.RunOpened)
    )
    samples, beats = _samples(folder.vitals, number), _beats(folder.beats, number)
    alive, same_boot = _still_there(ours)
    return Evidence(
        name=folder.name,
        path=path,
        now=now,
        entries=ours,
        earlier=_earlier(entries, number),
        samples=samples,
        beats=beats,
        captures=_captures(folder.stacks, ours),
        output=output.read(folder.output),
        fatal=_fatal(folder.stacks, ours),
        alive=alive,
        same_boot=same_boot,
        missing=tuple(missing + _absent(folder, samples, beats)),
        saved=_saved(folder.checkpoints),
    )


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
    return NotARun(
        f"{path} is not the folder of a run",
        where=path,
        found="no journal.jsonl, beats, vitals.jsonl or output.log in it"
        if path.is_dir()
        else "it is a file",
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
    with contextlib.suppress(OSError):
        scripts = {one.name: one.read_text(errors="replace") for one in folder.source.iterdir()}
    return Sources(scripts, _recipe(folder.recipe))


def _recipe(path: Path) -> dict[str, Any]:
    """The resolved settings of our own trainer, as "train.batch"."""
    try:
        text = path.read_text()
    except OSError:
        return {}
    import tomllib

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    return {
        f"{table}.{name}": value
        for table, values in tables.items()
        if isinstance(values, dict)
        for name, value in values.items()
    }


def _said(entry: Entry) -> Recorded[Any]:
    return Recorded(entry.event, entry.line, entry.at, entry.mono, entry.by, entry.pid, entry.attempt)


def _journal(path: Path, missing: list[Fact]) -> list[Entry]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        missing.append(Fact("missing.journal", {"error": error.strerror or str(error)}))
        return []
    lines = raw.split(b"\n")
    if lines[-1]:
        missing.append(Fact("journal.cut-off", {"line": len(lines)}))
    lines.pop()
    wanted = _thinned(lines)
    entries = [
        entry
        for number in wanted
        for entry in reader.decode([lines[number]], first_line=number + 1, path=path)
    ]
    torn = len(wanted) - len(entries)
    if torn:
        missing.append(Fact("journal.unreadable", {"lines": torn}))
    return entries


def _thinned(lines: list[bytes]) -> list[int]:
    """Numbers of the lines to decode, from 0."""
    if len(lines) <= 2 * _KEEP_OF_A_KIND:
        return list(range(len(lines)))
    wanted: list[int] = []
    frequent: dict[bytes, list[int]] = {}
    begin = len(_KIND)
    for number, line in enumerate(lines):
        kind = line[begin : line.find(b'"', begin)] if line.startswith(_KIND) else b""
        if kind in _FREQUENT:
            frequent.setdefault(kind, []).append(number)
        else:
            wanted.append(number)
    for numbers in frequent.values():
        wanted += _even(numbers, _KEEP_OF_A_KIND)
    return sorted(wanted)


def _even(numbers: list[int], most: int) -> list[int]:
    """The first third, the last third, and the middle at even distances."""
    if len(numbers) <= most:
        return numbers
    third = most // 3
    middle = numbers[third:-third]
    stride = len(middle) / third
    return numbers[:third] + [middle[int(at * stride)] for at in range(third)] + numbers[-third:]


def _samples(path: Path, attempt: int) -> tuple[tuple[int, Sample], ...]:
    return tuple((line, sample) for line, sample in _read_vitals(path) if sample.attempt == attempt)


def _read_vitals(path: Path) -> Iterator[tuple[int, Sample]]:
    try:
        size = path.stat().st_size
    except OSError:
        return
    if size <= _WHOLE_VITALS_BYTES:
        yield from vitals.read(path)
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        line, position = 1, 0
        for start, end in _windows(size):
            start = _line_start(whole, start)
            line += whole[position:start].count(b"\n")
            position = start
            while position < end:
                stop = whole.find(b"\n", position)
                if stop < 0:
                    return
                sample = vitals.decode(whole[position:stop])
                if sample is not None:
                    yield line, sample
                line, position = line + 1, stop + 1


def _windows(size: int) -> list[tuple[int, int]]:
    """Where to read: the head, single samples of the middle, the tail."""
    edge = _WHOLE_VITALS_BYTES // 3
    stride = (size - 2 * edge) / _MIDDLE_SAMPLES
    middle = [edge + int(at * stride) for at in range(1, _MIDDLE_SAMPLES)] if stride > 4096 else []
    if not middle:
        return [(0, size)]
    return [(0, edge), *((at, at + 1) for at in middle), (size - edge, size)]


def _line_start(whole: mmap.mmap, at: int) -> int:
    return 0 if at == 0 else whole.find(b"\n", at) + 1 or at


def _beats(path: Path, attempt: int) -> tuple[Beat, ...]:
    ring = BeatReader(path)
    try:
        newest = ring.newest()
        oldest = max(0, newest.sequence - _BEATS) if newest is not None else 0
        return tuple(beat for beat in ring.beats_since(oldest) if beat.attempt == attempt & 0xFFFF)
    finally:
        ring.close()


def _captures(folder: Path, said: tuple[Recorded[Any], ...]) -> tuple[tuple[str, stack_files.Capture], ...]:
    """The captures of this attempt; the newest few, since each may be large."""
    named = [one.event.file for one in said if isinstance(one.event, ev.StacksCaptured)]
    named += [name for one in said if isinstance(one.event, ev.Stalled) for name in one.event.stacks]
    if not named and not said and folder.is_dir():
        named = sorted(path.name for path in folder.glob("*.json"))
    found = []
    for name in list(dict.fromkeys(Path(name).name for name in named))[-3:]:
        capture = stack_files.read(folder / name)
        if capture is not None:
            found.append((name, capture))
    return tuple(found)


def _fatal(folder: Path, said: tuple[Recorded[Any], ...]) -> error.Fatal | None:
    """What the fault handler of one of this attempt's processes wrote when it crashed; the trainer's before others'."""
    trainers = [one.pid for one in said if isinstance(one.event, ev.FitStarted)]
    joined = [one.pid for one in said if isinstance(one.event, ev.ProcessJoined)]
    for pid in dict.fromkeys([*reversed(trainers), *joined]):
        path = folder / f"faulthandler-{pid}.txt"
        try:
            text = path.read_text(errors="replace")[-_FATAL_CHARACTERS:]
        except OSError:
            continue
        found = error.read_fatal(text, source=f"stacks/{path.name}")
        if found is not None:
            return found
    return None


def _still_there(said: tuple[Recorded[Any], ...]) -> tuple[bool | None, bool | None]:
    """Whether the process lives and the machine has not restarted; None where it cannot be known from here."""
    opened = next((one.event for one in said if isinstance(one.event, ev.RunOpened)), None)
    if any(isinstance(one.event, ev.AttemptEnded) for one in said):
        return False, None
    if opened is None or not opened.boot_id:
        return None, None
    if opened.boot_id != _boot_id():
        return (False, False) if opened.host == os.uname().nodename else (None, None)
    started = [one for one in said if isinstance(one.event, ev.AttemptStarted)]
    if not started:
        return None, True
    return _is_process(started[-1].event.pid, started[-1].mono), True


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _is_process(pid: int, started_mono: float) -> bool:
    """The process lives and is not another one that was given the same number later."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        ticks = int(stat.rpartition(")")[2].split()[19])
        if stat.rpartition(")")[2].split()[0] == "Z":
            return False
        return ticks / os.sysconf("SC_CLK_TCK") <= started_mono + 60
    except (OSError, ValueError, IndexError):
        return False


def _saved(checkpoints: Path) -> int | None:
    """The newest step whose checkpoint has its name, which it gets when it is whole."""
    try:
        names = [entry.name for entry in os.scandir(checkpoints) if entry.is_dir()]
    except OSError:
        return None
    return max((int(name[5:]) for name in names if re.fullmatch(r"step-\d+", name)), default=None)


def _earlier(entries: list[Entry], number: int) -> tuple[Attempt, ...]:
    found = []
    for attempt in sorted({entry.attempt for entry in entries if 0 < entry.attempt < number}):
        own = [entry.event for entry in entries if entry.attempt == attempt]
        ended = next((event for event in reversed(own) if isinstance(event, ev.AttemptEnded)), None)
        steps = [event.steps for event in own if isinstance(event, ev.EpochDone)]
        losses = [event.step for event in own if isinstance(event, ev.LossSeen)]
        if ended is None and not any(isinstance(event, ev.AttemptStarted) for event in own):
            continue
        word = "not recorded" if ended is None else ended.signal or f"exit code {ended.exit_code}"
        reached = max([sum(steps), *losses]) if steps or losses else None
        found.append(Attempt(attempt, word, ended.duration_s if ended else None, reached))
    return tuple(found)


def _absent(folder: RunFolder, samples: tuple[Any, ...], beats: tuple[Any, ...]) -> list[Fact]:
    absent = {
        "missing.samples": not samples,
        "missing.heartbeats": not beats,
        "missing.output": not folder.output.exists(),
    }
    return [Fact(kind) for kind, is_absent in absent.items() if is_absent]
