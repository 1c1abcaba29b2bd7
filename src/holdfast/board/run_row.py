"""One run as a row of the list, read from the ends of its files. Whatever is in the folder, there is a row.

Hundreds of runs must cost little, and some are being written at this moment: of each only the first and the last
kilobytes are read. A folder that cannot be read gives a row that says why.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

from holdfast.board import bounded_read, verdict_shape
from holdfast.board.plain_values import count, loaded, mapping, number, objects, text
from holdfast.journal.events import FORMAT_VERSION
from holdfast.journal.folder import RunFolder
from holdfast.units import percent, size
from holdfast.user_code import script_words

LIVE = ("running", "stalled")
FRESH_S = 15.0  # a run whose samples are older than this is not being watched any more
_HEAD_BYTES, _JOURNAL_BYTES, _SAMPLES_BYTES = 24 << 10, 48 << 10, 16 << 10
_VERDICT_BYTES = 4 << 20
_HISTORY, _LINE_BYTES = 28, 3 << 10  # points of a sparkline, and about what a sample takes
_LOSS = re.compile(rb'"loss": ?(-?\d[\d.]*(?:[eE][-+]?\d+)?)')
_KIND = re.compile(rb'^\{"kind": ?"(\w+)"')
_KINDS = frozenset({b"run_opened", b"fit_started", b"stalled", b"stall_ended", b"run_closed", b"non_finite_seen",
                    b"attempt_started", b"progress_printed"})  # fmt: skip
_MEMORY_SHARE, _DISK_BYTES = 0.95, 512 << 20  # of a limit, and of free space: what is worth a look


def read_row(folder: RunFolder, now: float) -> dict[str, Any]:
    """The row without its id. Never raises for what a folder holds."""
    try:
        return _row(folder, now)
    except Exception as error:  # a row is all that a damaged folder may cost
        return unreadable(folder, f"{type(error).__name__}: {error}")


def unreadable(folder: RunFolder, why: str, do: str = "") -> dict[str, Any]:
    return {"name": folder.path.name, "state": "unreadable", "why": text(why, 300), "do": do, "changed": 0.0}


def _row(folder: RunFolder, now: float) -> dict[str, Any]:
    trouble: list[str] = []
    head = _events(_read(bounded_read.head, folder.journal, _HEAD_BYTES, trouble))
    opened = next((event for kind, event, _ in head if kind == "run_opened"), {})
    if (newer := _newer(opened)) is not None:
        return {**unreadable(folder, *newer), "changed": _changed(folder)}
    tail = _events(_read(bounded_read.tail, folder.journal, _JOURNAL_BYTES, trouble))
    samples = _samples(_read(bounded_read.tail, folder.vitals, _SAMPLES_BYTES, trouble))
    last = samples[-1] if samples else {}
    verdict = _verdict(folder, last, trouble)
    state = _state(verdict, tail, last, now)
    if trouble and not (head or tail or samples or verdict):
        return unreadable(folder, trouble[0])
    losses = _losses(folder.vitals)
    live = state in LIVE and _fresh(last, now)
    row = {
        "name": folder.path.name,
        "state": state,
        "live": live,
        "script": _script(opened),
        "host": text(opened.get("host"), 80),
        "attempt": count(last.get("attempt")) or 1,
        **_position(verdict, head + tail, samples, state),
        **_machine(last if live else max([last, *samples], key=_memory)),
        **verdict_shape.first_line(verdict),
        "loss": losses[-1] if losses else None,
        "losses": losses,
        "began": number(head[0][2]) if head else None,
        "changed": number(last.get("at")) or (tail[-1][2] if tail else 0.0) or _changed(folder),
    }
    if row["live"] or not row["why"]:
        row.update(_remark(row, tail) or {})
    row["why"] = row["why"] or next(iter(trouble), "")
    return {name: value for name, value in row.items() if value not in (None, "", [], False)}


# -- reading ----------------------------------------------------------------------------------------


def _read(how: Any, path: Path, most: int, trouble: list[str]) -> bytes:
    try:
        read: bytes = how(path, most)
    except FileNotFoundError:
        return b""
    except OSError as error:
        trouble.append(error.strerror or str(error))
        return b""
    return read


def _events(read: bytes) -> list[tuple[str, dict[str, Any], float]]:
    """Kind, event and time of those that a row is made of, and of the first and the last line."""
    lines = read.split(b"\n")
    found = []
    for at, line in enumerate(lines):
        kind = _KIND.match(line)
        if kind is None or (kind[1] not in _KINDS and at not in (0, len(lines) - 2)):
            continue
        if obj := loaded(line):
            found.append((kind[1].decode(), mapping(obj.get("event")), number(obj.get("at")) or 0.0))
    return found


def _samples(read: bytes) -> list[dict[str, Any]]:
    """Two of the last ones, some seconds apart: enough for where a run is and at what pace."""
    lines = read.split(b"\n")[:-1]
    lines = lines[1:] if len(read) == _SAMPLES_BYTES else lines
    return [sample for sample in map(loaded, [*lines[:1], *lines[-1:]]) if sample]


def _losses(path: Path) -> list[float]:
    """At even distances over the whole run, by a look here and there into a file that may be long."""
    lines: list[bytes] = []
    with contextlib.suppress(OSError), bounded_read.opened(path) as (fd, length):
        if length > _SAMPLES_BYTES:
            for at in range(_HISTORY):
                lines += bounded_read.lines_at(fd, length, at * length // _HISTORY, _LINE_BYTES)[:1]
            lines += bounded_read.lines_at(fd, length, length - _LINE_BYTES, _LINE_BYTES)[-1:]
        else:
            whole = bounded_read.lines_at(fd, length, 0, _SAMPLES_BYTES)
            lines = whole[:: -(-len(whole) // _HISTORY) or 1] + whole[-1:]
    found = [number(float(loss[1])) for line in lines if (loss := _as_number(line)) is not None]
    return [float(f"{loss:.5g}") for loss in found if loss is not None]


def _as_number(line: bytes) -> re.Match[bytes] | None:
    loss = _LOSS.search(line)
    if loss is None or loss[1].count(b".") > 1:
        return None
    return loss


def _verdict(folder: RunFolder, last: dict[str, Any], trouble: list[str]) -> dict[str, Any]:
    """verdict.json, unless the run was resumed after it."""
    read = _read(bounded_read.whole, folder.verdict, _VERDICT_BYTES, trouble)
    verdict = loaded(read, _VERDICT_BYTES) if read else {}
    if verdict and verdict.get("outcome") != "running":
        with contextlib.suppress(OSError):
            written = folder.verdict.lstat().st_mtime
            if (number(last.get("at")) or 0.0) > written + FRESH_S:
                return {}
    return verdict


def _changed(folder: RunFolder) -> float:
    try:
        return folder.journal.lstat().st_mtime
    except OSError:
        return 0.0


# -- what the records say ---------------------------------------------------------------------------


def _newer(opened: dict[str, Any]) -> tuple[str, str] | None:
    version = opened.get("version")
    if not isinstance(version, int) or version <= FORMAT_VERSION:
        return None
    by = text(opened.get("holdfast"), 20)
    writer = f"a newer Holdfast ({by})" if by else "a newer Holdfast"
    why = f"written by {writer}: format {version}, this one reads up to {FORMAT_VERSION}"
    return why, "pip install --upgrade holdfast"


def _script(opened: dict[str, Any]) -> str:
    """The script of the command, its module, or its program."""
    given = opened.get("command")
    command = [one for one in given[:50] if isinstance(one, str)] if isinstance(given, list) else []
    script = next(script_words(command, endings=(".py", ".ipynb")), None)
    return text(Path(script.word).name if script else Path(command[0]).name if command else "", 80)


def _state(verdict: dict[str, Any], tail: list[Any], last: dict[str, Any], now: float) -> str:
    fresh = _fresh(last, now)
    outcome = text(verdict.get("outcome"), 40)
    if outcome == "running":  # of a process that was attached to and left
        return "running" if fresh else "not watched"
    if outcome:
        return outcome
    last_start = max((at for at, one in enumerate(tail) if one[0] == "attempt_started"), default=-1)
    closed = [event for kind, event, _ in tail[last_start + 1 :] if kind == "run_closed"]
    if closed:
        return text(closed[-1].get("outcome"), 40) or "ended"
    if not fresh:
        return "not watched"
    moves = [kind for kind, _, _ in tail if kind in ("stalled", "stall_ended")]
    return "stalled" if moves and moves[-1] == "stalled" else "running"


def _fresh(last: dict[str, Any], now: float) -> bool:
    return now - (number(last.get("at")) or 0.0) <= FRESH_S


def _position(
    verdict: dict[str, Any], events: list[Any], samples: list[dict[str, Any]], state: str
) -> dict[str, Any]:
    """Step, how many there will be, the epoch, and the seconds that are left at the pace of the last samples."""
    last = samples[-1] if samples else {}
    step = max(count(last.get("step")), count(verdict.get("step")))
    of = count(verdict.get("of")) or _planned(events)
    printed = _last_printed(events, last)
    if not step and printed:
        unit, total = ("step", "of") if "step" in printed else ("epoch", "of_epochs")
        return {"step": count(printed.get(unit)), "of": count(printed.get(total)), "as_printed": True}
    left = _seconds_left(samples, of) if state == "running" else None
    return {"step": step, "of": of, "left_s": left}


def _last_printed(events: list[Any], last: dict[str, Any]) -> dict[str, Any]:
    """As the command printed it: in the last sample, or at its end, which may come right after that."""
    sampled_at = number(last.get("at")) or 0.0
    later = [event for kind, event, at in events if kind == "progress_printed" and at > sampled_at]
    return (
        {name: one for name, one in later[-1].items() if one is not None}
        if later
        else mapping(last.get("printed"))
    )


def _planned(events: list[Any]) -> int:
    for kind, fit, _ in reversed(events):
        epochs, steps = count(fit.get("epochs")), count(fit.get("planned_steps_per_epoch"))
        if kind == "fit_started" and epochs and steps:
            return max(0, epochs - count(fit.get("initial_epoch"))) * steps
    return 0


def _seconds_left(samples: list[dict[str, Any]], of: int) -> float | None:
    if not of or len(samples) < 2:
        return None
    first, last = samples[0], samples[-1]
    steps = count(last.get("step")) - count(first.get("step"))
    seconds = (number(last.get("mono")) or 0.0) - (number(first.get("mono")) or 0.0)
    return (
        round(max(0, of - count(last.get("step"))) * seconds / steps) if steps > 0 and seconds > 0 else None
    )


def _memory(sample: dict[str, Any]) -> int:
    return count(sample.get("tree_rss_bytes")) or count(sample.get("rss_bytes"))


def _machine(last: dict[str, Any]) -> dict[str, Any]:
    gpus = objects(last.get("gpus"), 64)
    free = [
        space for space in map(number, mapping(last.get("disks_free_bytes")).values()) if space is not None
    ]
    busy = [use for use in (number(gpu.get("utilisation")) for gpu in gpus) if use is not None]
    return {
        "memory": _memory(last),
        "memory_limit": count(last.get("memory_limit_bytes")),
        "gpu_memory": sum(count(gpu.get("used_bytes")) for gpu in gpus),
        "gpu_total": sum(count(gpu.get("total_bytes")) for gpu in gpus),
        "gpu_busy": max(busy) if busy else None,
        "disk_free": min(free) if free else None,
    }


def _remark(row: dict[str, Any], tail: list[Any]) -> dict[str, Any] | None:
    """What of a run without a verdict is worth a look; the verdict itself takes longer."""
    live = row["live"]
    stall: dict[str, Any] = next((event for kind, event, _ in reversed(tail) if kind == "stalled"), {})
    if live and row["state"] == "stalled":
        phase = text(stall.get("phase"), 40) or "its phase"
        why = f"no progress in {phase} at step {count(stall.get('step')):,}"
        return {"why": why, "cause": "stalled", "blames": True, "do": "open it for the stacks and the cause"}
    nan = next((event for kind, event, _ in reversed(tail) if kind == "non_finite_seen"), None)
    if nan is not None:
        what = text(nan.get("name"), 60) or text(nan.get("what"), 60) or "a value"
        why = f"{what} became {text(nan.get('value'), 20) or 'not finite'} at step {count(nan.get('step')):,}"
        return {"why": why, "cause": "loss-not-finite", "blames": True, "do": "open it for what led to it"}
    memory, limit = row["memory"], row["memory_limit"]
    if live and limit and memory > _MEMORY_SHARE * limit:
        return {
            "why": f"memory at {percent(memory / limit)} of its limit of {size(limit)}",
            "cause": "memory",
        }
    free = row["disk_free"]
    if live and free is not None and free < _DISK_BYTES:
        return {"why": f"{size(free)} of disk space left", "cause": "disk"}
    if row["state"] == "not watched" and tail and not any(kind == "run_closed" for kind, _, _ in tail):
        why = "the record stops without an end: the supervisor or the machine is gone"
        return {"why": why, "do": "open it for what is known"}
    return None
