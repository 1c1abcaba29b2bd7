"""The story of a run on one time axis: charts, marks and facts, read from its folder. No drawing here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from holdfast.journal import events, reader, stacks, vitals
from holdfast.journal.beats import BeatReader
from holdfast.journal.folder import RunFolder
from holdfast.journal.reader import Entry
from holdfast.journal.vitals import Sample
from holdfast.report.series import Chart, Mark, Point, Series, rates, thin


@dataclass(frozen=True, slots=True)
class Story:
    name: str
    command: str
    began_at: float | None  # seconds since 1970
    duration_s: float
    charts: list[Chart] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    tables: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    stacks: list[tuple[str, str]] = field(default_factory=list)  # title, text
    output_tail: str = ""
    recipe: str = ""
    host: str = ""


def tell(folder: RunFolder) -> Story:
    """Everything but the verdict. Any of the records may be missing."""
    entries = reader.read(folder.journal) if folder.journal.exists() else []
    samples = [sample for _, sample in vitals.read(folder.vitals)]
    beats = BeatReader(folder.beats).since(0)
    zero = min([entry.mono for entry in entries[:1]] + [sample.mono for sample in samples[:1]], default=0.0)
    last = max(
        [entry.mono for entry in entries[-1:]] + [sample.mono for sample in samples[-1:]], default=zero
    )
    opened = next((entry for entry in entries if isinstance(entry.event, events.RunOpened)), None)
    losses = [(beat.mono - zero, beat.loss) for beat in beats if beat.loss_known and beat.step_ns]
    return Story(
        name=folder.name,
        command=" ".join(opened.event.command) if opened else "",  # type: ignore[attr-defined]
        began_at=entries[0].at if entries else None,
        duration_s=max(0.0, last - zero),
        charts=[chart for chart in _charts(entries, samples, losses, zero) if chart.series],
        marks=_marks(entries, zero),
        tables=_tables(entries),
        stacks=_stacks(folder),
        output_tail=_tail(folder),
        recipe=folder.recipe.read_text(errors="replace") if folder.recipe.exists() else "",
        host=opened.event.host if opened else "",  # type: ignore[attr-defined]
    )


# -- charts ---------------------------------------------------------------------------------------


def _charts(entries: list[Entry], samples: list[Sample], newest: list[Point], zero: float) -> list[Chart]:
    return [
        _loss(entries, samples, newest, zero),
        _validation(entries, zero),
        Chart("Learning rate", "1", _drawn([("learning rate", _learning_rates(entries, zero))]), log=True),
        _step_time(samples, zero),
        Chart(
            "Throughput",
            "steps/s",
            _drawn([("steps", rates((s.mono - zero, float(s.step)) for s in samples))]),
        ),
        _memory(samples, zero),
        _gpu(samples, zero),
        Chart(
            "Processor", "cores", _drawn([("busy cores", rates((s.mono - zero, s.cpu_s) for s in samples))])
        ),
    ]


def _drawn(named: Iterable[tuple[str, list[Point]]], dashed: tuple[str, ...] = ()) -> list[Series]:
    return [Series(name, thin(sorted(points)), name in dashed) for name, points in named if points]


def _loss(entries: list[Entry], samples: list[Sample], newest: list[Point], zero: float) -> Chart:
    parts: dict[str, list[Point]] = {"loss": [(s.mono - zero, s.loss) for s in samples if s.loss is not None]}
    parts["loss"] += newest
    for entry in entries:
        if isinstance(entry.event, events.LossSeen):
            for name, value in entry.event.logs.items():
                if isinstance(value, int | float):
                    parts.setdefault(name, []).append((entry.mono - zero, float(value)))
    return Chart("Loss and its parts", "1", _drawn(parts.items()), log=True)


def _validation(entries: list[Entry], zero: float) -> Chart:
    parts: dict[str, list[Point]] = {}
    for entry in entries:
        if isinstance(entry.event, events.ValidationDone):
            for name, value in entry.event.logs.items():
                if isinstance(value, int | float):
                    parts.setdefault(name, []).append((entry.mono - zero, float(value)))
    return Chart("Validation", "1", _drawn(parts.items()))


def _learning_rates(entries: list[Entry], zero: float) -> list[Point]:
    return [
        (entry.mono - zero, entry.event.learning_rate)
        for entry in entries
        if isinstance(entry.event, events.LossSeen | events.EpochDone)
        and isinstance(entry.event.learning_rate, float)
    ]


def _step_time(samples: list[Sample], zero: float) -> Chart:
    whole = [(s.mono - zero, s.step_s) for s in samples if s.step_s is not None]
    waits: list[Point] = []
    computes: list[Point] = []
    for before, after in pairwise(samples):
        steps = after.step - before.step
        if steps > 0 and (after.data_wait_s > before.data_wait_s):
            waits.append((after.mono - zero, (after.data_wait_s - before.data_wait_s) / steps))
            computes.append((after.mono - zero, (after.compute_s - before.compute_s) / steps))
    note = "" if waits else "Waiting for data and computing were not told apart in this run."
    named = [("whole step", whole), ("waiting for data", waits), ("computing", computes)]
    return Chart("Time of a step", "s", _drawn(named), note=note if whole else "")


def _memory(samples: list[Sample], zero: float) -> Chart:
    def line(name: str) -> list[Point]:
        return [(s.mono - zero, float(v)) for s in samples if (v := getattr(s, name)) is not None and v > 0]

    return Chart(
        "Memory of the host",
        "bytes",
        _drawn(
            [
                ("process", line("rss_bytes")),
                ("process and its children", line("tree_rss_bytes")),
                ("limit", line("memory_limit_bytes")),
                ("swap", line("swap_bytes")),
            ],
            dashed=("limit",),
        ),
    )


def _gpu(samples: list[Sample], zero: float) -> Chart:
    used = [
        (s.mono - zero, float(sum(gpu.get("used_bytes", 0) for gpu in s.gpus))) for s in samples if s.gpus
    ]
    total = [
        (s.mono - zero, float(sum(gpu.get("total_bytes", 0) for gpu in s.gpus))) for s in samples if s.gpus
    ]
    return Chart(
        "Memory of the devices", "bytes", _drawn([("used", used), ("limit", total)], dashed=("limit",))
    )


# -- marks, tables, stacks, output ------------------------------------------------------------------


def _marks(entries: list[Entry], zero: float) -> list[Mark]:
    found = []
    for entry in entries:
        label = _mark(entry.event)
        if label:
            found.append(Mark(entry.mono - zero, *label))
    epochs = [mark for mark in found if mark.kind == "epoch"]
    crowded = {id(mark) for mark in epochs[:: max(1, len(epochs) // 100)]} if len(epochs) > 100 else None
    return [mark for mark in found if crowded is None or mark.kind != "epoch" or id(mark) in crowded]


def _mark(event: events.Event) -> tuple[str, str] | None:
    match event:
        case events.EpochStarted():
            return "epoch", f"epoch {event.epoch + 1} begins"
        case events.SaveDone():
            return "save", f"saved {event.path}"
        case events.SaveFailed():
            return "error", f"not saved: {event.error}"
        case events.Stalled():
            return "stall", f"stalled in {event.phase} at step {event.step}"
        case events.StallEnded():
            return "stall", "moving again"
        case events.OomKillSeen():
            return "kill", "the kernel killed for memory"
        case events.SignalReceived() | events.SignalSent():
            return "kill", event.signal
        case events.Restarted():
            return "restart", f"restarted: {event.why}"
        case events.NonFiniteSeen():
            return "nan", f"{event.what} {event.name} became {event.value} at step {event.step}"
        case events.StopRequested():
            return "stop", f"{event.by} asked to stop ({event.where})"
        case events.ExceptionRaised():
            return "error", f"{event.type} at {event.user_line}"
        case events.AttemptEnded():
            return "stop", f"ended: {event.signal or event.exit_code}"
    return None


def _tables(entries: list[Entry]) -> dict[str, list[tuple[str, str]]]:
    titles: dict[type[events.Event], str] = {
        events.ModelSeen: "Model",
        events.DatasetSeen: "Data",
        events.FitStarted: "Training asked for",
        events.FitDone: "Training done",
        events.FrameworkSeen: "Framework",
        events.MachineRead: "Machine",
        events.AttemptEnded: "End",
    }
    newest: dict[str, events.Event] = {}
    for entry in entries:
        title = titles.get(type(entry.event))
        if title == "Data":
            title = f"Data: {entry.event.role}"  # type: ignore[attr-defined]
        if title:
            newest[title] = entry.event
    return {
        title: [
            (name.replace("_", " "), _words(value))
            for name, value in events.payload(event).items()
            if _tells(value)
        ]
        for title, event in newest.items()
    }


def _tells(value: Any) -> bool:
    return value not in (None, "", [], {}, -2)


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(one)}" for key, one in value.items() if _tells(one))
    if isinstance(value, list):
        shown = ", ".join(_words(one) for one in value[:40])
        return shown + (f" … and {len(value) - 40} more" if len(value) > 40 else "")
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _stacks(folder: RunFolder, most: int = 6) -> list[tuple[str, str]]:
    found = []
    for path in sorted(folder.stacks.glob("*.json"))[-most:]:
        capture = stacks.read(path)
        if capture is not None and capture.looks:
            title = (
                f"{capture.reason or 'captured'}, {capture.phase or 'phase not known'}, step {capture.step}"
            )
            found.append((title, "\n".join(_process_text(one) for one in capture.looks[-1].processes)))
    return found


def _process_text(process: stacks.ProcessStacks) -> str:
    lines = [f"process {process.pid} {process.name} [{process.state}] {process.command}".rstrip()]
    with_frames = sorted(process.threads, key=lambda thread: (not thread.main, not thread.frames))
    for thread in with_frames:
        if thread.frames or thread.main or thread.native:
            lines.append(
                f"  thread {thread.tid} {thread.name} [{thread.state} {thread.wait}] {thread.syscall}".rstrip()
            )
            lines += [f"    {frame.file}:{frame.line} {frame.function}" for frame in thread.frames]
            lines += [f"    native {name}" for name in thread.native[:12]]
    bare = sum(not thread.frames and not thread.main and not thread.native for thread in process.threads)
    return "\n".join(lines + ([f"  and {bare} native threads"] if bare else []))


def _tail(folder: RunFolder, most: int = 20_000) -> str:
    try:
        with folder.output.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - most))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(
        line.rpartition("\r")[2] if "\r" in line.strip("\r") else line for line in text.split("\n")
    )
