"""The curves of a run: loss, metrics and the machine, read once and then only what is added. Bounded in memory."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import Any

from holdfast.board.growing_series import GrowingSeries
from holdfast.board.grown_file import GrownFile
from holdfast.board.plain_values import count, loaded, mapping, number, objects, text
from holdfast.journal.folder import RunFolder

_MOST_SERIES, _MOST_MARKS, _MOST_NAME = 48, 200, 80
_MOST_LINE_BYTES = 64 << 10
_KEPT_RUNS = 16
_KIND = re.compile(rb'^\{"kind": ?"(\w+)"')
_NAN = float("nan")
_MARKS = {
    "stalled": ("stall", "stalled"),
    "stall_ended": ("stall", "moving again"),
    "restarted": ("restart", "restarted"),
    "non_finite_seen": ("nan", "not finite"),
    "oom_kill_seen": ("kill", "the kernel killed for memory"),
    "signal_received": ("kill", "signal"),
    "exception_raised": ("error", "exception"),
    "stop_requested": ("stop", "asked to stop"),
    "save_failed": ("error", "not saved"),
    "rolled_back": ("restart", "rolled back"),
}


class RunCurves:
    """Series by name, in the order in which they appeared."""

    def __init__(self, folder: RunFolder) -> None:
        self._journal = GrownFile(folder.journal)
        self._vitals = GrownFile(folder.vitals)
        self._series: dict[str, GrowingSeries] = {}
        self._units: dict[str, str] = {}
        self._marks: list[dict[str, Any]] = []
        self._step = 0
        self._before: dict[str, Any] = {}
        self._began: float | None = None
        self._of_epochs: set[str] = set()
        self._lock = threading.Lock()

    def since(self, have: list[tuple[int, int]]) -> dict[str, Any]:
        """What a page misses that has of each series, in their order, this thinning and this many points."""
        with self._lock:
            self._read()
            series = []
            for at, (name, one) in enumerate(self._series.items()):
                thinned, length = have[at] if at < len(have) else (-1, 0)
                series.append({"name": name, "unit": self._units[name], **one.since(thinned, length)})
            return {
                "began": self._began,
                "series": series,
                "marks": self._marks[-_MOST_MARKS:],
                "more": self._journal.more or self._vitals.more,
                "sampled": self._journal.sampled or self._vitals.sampled,
                "trouble": self._journal.trouble or self._vitals.trouble,
            }

    def _read(self) -> None:
        """Lines of both files in the order of time, so that each point knows its step."""
        events = [(one["at"], self._event, one) for one in self._of_kinds(self._journal.lines())]
        samples = [(one["at"], self._sample, one) for one in map(_object, self._vitals.lines()) if one]
        for at, take, one in sorted([*events, *samples], key=lambda line: float(line[0])):
            if self._began is None:
                self._began = at
            take(one)

    @staticmethod
    def _of_kinds(lines: list[bytes]) -> list[dict[str, Any]]:
        wanted = (b"loss_seen", b"validation_done", b"epoch_done", b"run_opened", b"attempt_started",
                  *(kind.encode() for kind in _MARKS))  # fmt: skip
        found = []
        for line in lines:
            kind = _KIND.match(line)
            if kind is not None and kind[1] in wanted and (obj := _object(line)):
                found.append(obj)
        return found

    # -- lines ----------------------------------------------------------------------------------------

    def _event(self, entry: dict[str, Any]) -> None:
        kind, event, at = text(entry.get("kind"), 40), mapping(entry.get("event")), entry["at"]
        if kind == "loss_seen":
            self._step = count(event.get("step")) or self._step
            logs, alone = mapping(event.get("logs")), event.get("step_loss")
            self._logs(at, {**logs, "loss": alone} if number(alone) is not None else logs, "")
            self._add("learning rate", "", at, event.get("learning_rate"))
            self._add("gradient norm", "", at, event.get("gradient_norm"))
        elif kind == "validation_done":
            self._logs(at, mapping(event.get("logs")), "val_")
        elif kind == "epoch_done":
            logs = mapping(event.get("logs"))
            new = {name for name in logs if name not in self._series or name in self._of_epochs}
            self._of_epochs |= new  # of what comes more often, the mean of an epoch says nothing more
            self._logs(at, {name: logs[name] for name in new}, "")
            self._add("learning rate", "", at, event.get("learning_rate"))
        elif kind == "attempt_started":
            self._before = {}
            if count(entry.get("attempt")) > 1:
                self._mark(at, "restart", f"attempt {count(entry.get('attempt'))}")
        elif kind in _MARKS:
            self._mark(at, _MARKS[kind][0], _label(kind, event))

    def _logs(self, at: float, logs: dict[str, Any], prefix: str) -> None:
        for name, value in logs.items():
            coco = name[:2] in ("AP", "AR")
            if not (coco and value == -1):  # COCO's word for "there is none of that"
                self._add(name if coco or name.startswith(prefix) else prefix + name, "", at, value)

    def _sample(self, sample: dict[str, Any]) -> None:
        at, before = sample["at"], self._before
        self._step = count(sample.get("step")) or self._step
        printed = mapping(sample.get("printed"))
        self._add("loss", "", at, sample.get("loss", printed.get("loss")))
        self._add("step time", "s", at, sample.get("step_s"))
        self._add("RAM", "bytes", at, sample.get("tree_rss_bytes") or sample.get("rss_bytes"))
        self._add("RAM limit", "bytes", at, sample.get("memory_limit_bytes"))
        for name, unit, field in (("CPU", "cores", "cpu_s"), ("disk read", "bytes/s", "disk_read_bytes"),
                                  ("disk written", "bytes/s", "written_bytes"), ("steps", "/s", "step")):  # fmt: skip
            self._add(name, unit, at, _rate(before, sample, field))
        gpus = objects(sample.get("gpus"), 8)
        for index, gpu in enumerate(gpus):
            of = f" {index}" if len(gpus) > 1 else ""
            self._add(f"GPU memory{of}", "bytes", at, gpu.get("used_bytes"))
            self._add(f"GPU use{of}", "%", at, gpu.get("utilisation"))
        free = [number(one) for one in mapping(sample.get("disks_free_bytes")).values()]
        known = [one for one in free if one is not None]
        if known:
            self._add("disk free", "bytes", at, min(known))
        self._before = sample

    def _add(self, name: str, unit: str, at: float, value: Any) -> None:
        if isinstance(value, str) and value in ("nan", "inf", "-inf", "NaN"):  # as the journal writes them
            value = _NAN
        elif not isinstance(value, int | float) or isinstance(value, bool):
            return
        known = number(value)
        series = self._series.get(name)
        if series is None:
            if known is None or len(self._series) >= _MOST_SERIES or not name or len(name) > _MOST_NAME:
                return
            series = self._series[name] = GrowingSeries()
            self._units[name] = unit
        series.add(at, float(self._step), _NAN if known is None else known)

    def _mark(self, at: float, kind: str, label: str) -> None:
        self._marks.append({"at": at, "step": self._step, "kind": kind, "label": label})
        if len(self._marks) > 4 * _MOST_MARKS:
            self._marks = self._marks[-_MOST_MARKS:]


def _object(line: bytes) -> dict[str, Any]:
    """With its time as a number; {} for a line that has none."""
    found = loaded(line, _MOST_LINE_BYTES)
    at = number(found.get("at"))
    return {**found, "at": at} if at else {}


def _rate(before: dict[str, Any], after: dict[str, Any], field: str) -> float | None:
    """Change a second of a counter within one attempt."""
    old, new = number(before.get(field)), number(after.get(field))
    seconds = (number(after.get("mono")) or 0.0) - (number(before.get("mono")) or 0.0)
    if (
        old is None
        or new is None
        or seconds <= 0
        or new < old
        or before.get("attempt") != after.get("attempt")
    ):
        return None
    return (new - old) / seconds


def _label(kind: str, event: dict[str, Any]) -> str:
    word = _MARKS[kind][1]
    match kind:
        case "stalled":
            return f"{word} in {text(event.get('phase'), 40)} at step {count(event.get('step')):,}"
        case "non_finite_seen":
            name = text(event.get("name"), 60) or text(event.get("what"), 60)
            return f"{name} became {text(event.get('value'), 20)} at step {count(event.get('step')):,}"
        case "restarted":
            return f"{word}: {text(event.get('why'), 80)}"
        case "signal_received":
            return text(event.get("signal"), 20) or word
        case "exception_raised":
            return f"{text(event.get('type'), 60)} {text(event.get('user_line'), 80)}".strip() or word
    return word


class CurveCache:
    """Curves of the runs that were looked at last."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, RunCurves] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, folder: RunFolder) -> RunCurves:
        key = str(folder.path)
        with self._lock:
            curves = self._known.pop(key, None) or RunCurves(folder)
            self._known[key] = curves
            while len(self._known) > _KEPT_RUNS:
                self._known.popitem(last=False)
        return curves


def have_of(query: str) -> list[tuple[int, int]]:
    """ "3.120,0.7" -> [(3, 120), (0, 7)]; what is none ends the list."""
    found: list[tuple[int, int]] = []
    for part in query.split(",")[:_MOST_SERIES]:
        thinned, _, length = part.partition(".")
        if not (thinned.isascii() and thinned.isdigit() and length.isascii() and length.isdigit()):
            break
        found.append((int(thinned[:9]), int(length[:9])))
    return found
