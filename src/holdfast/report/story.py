"""The story of a run on one time axis: charts, marks and facts, read from its folder. No drawing here."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast import regular_file
from holdfast.journal import events, reader, stack_files, vitals
from holdfast.journal.beats import BeatReader
from holdfast.journal.folder import RunFolder
from holdfast.journal.reader import Entry
from holdfast.journal.typed_values import plain
from holdfast.report import charts
from holdfast.report.series import Chart, Mark
from holdfast.units import size

_JSON_BYTES, _TEXT_BYTES = 32 << 20, 1 << 20
_THINNED_KINDS = ("epoch", "save", "validation")  # kinds of marks of which a long run has thousands


@dataclass(frozen=True, slots=True)
class RunTimeline:
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
    dataset: dict[str, Any] = field(default_factory=dict)  # as the trainer leaves it in dataset.json
    validation: dict[str, Any] = field(default_factory=dict)  # and in validation.json


def read_timeline(folder: RunFolder) -> RunTimeline:
    """Everything but the verdict. Any of the records may be missing."""
    entries = _entries(folder.journal)
    samples = [sample for _, sample in vitals.read(folder.vitals)]
    beats = BeatReader(folder.beats).beats_since(0)
    zero = min([entry.mono for entry in entries[:1]] + [sample.mono for sample in samples[:1]], default=0.0)
    last = max(
        [entry.mono for entry in entries[-1:]] + [sample.mono for sample in samples[-1:]], default=zero
    )
    opened = next((entry for entry in entries if isinstance(entry.event, events.RunOpened)), None)
    losses = [(beat.mono - zero, beat.loss) for beat in beats if beat.has_loss and beat.step_ns]
    return RunTimeline(
        name=folder.name,
        command=" ".join(opened.event.command) if opened else "",  # type: ignore[attr-defined]
        began_at=entries[0].at if entries else None,
        duration_s=max(0.0, last - zero),
        charts=charts.build_charts(entries, samples, losses, zero),
        marks=_marks(entries, zero),
        tables=_tables(entries),
        stacks=_stacks(folder),
        output_tail=_tail(folder),
        recipe=_text(folder.recipe),
        host=opened.event.host if opened else "",  # type: ignore[attr-defined]
        dataset=_json(folder.dataset),
        validation=_json(folder.validation),
    )


def _entries(path: Path) -> list[Entry]:
    try:
        return reader.read(path)
    except OSError:  # not there, or no regular file
        return []


def _text(path: Path) -> str:
    try:
        return regular_file.read_text(path, most=_TEXT_BYTES, links=False)
    except OSError:
        return ""


# -- marks, tables, stacks, output ------------------------------------------------------------------


def _marks(entries: list[Entry], zero: float) -> list[Mark]:
    found = []
    for entry in entries:
        label = _mark(entry.event)
        if label:
            found.append(Mark(entry.mono - zero, *label))
    return [mark for mark in found if mark.kind not in _THINNED_KINDS] + [
        mark for kind in _THINNED_KINDS for mark in _thin_marks([mark for mark in found if mark.kind == kind])
    ]


def _thin_marks(marks: list[Mark], most: int = 100) -> list[Mark]:
    """At even distances, with the last."""
    step = -(-len(marks) // most) or 1
    return marks[::-1][::step][::-1]


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
            return "stop", f"{event.by} asked to stop" + (f" ({event.where})" if event.where else "")
        case events.ExceptionRaised():
            return "error", f"{event.type} at {event.user_line}" if event.user_line else event.type
        case events.MicroBatchSet(reason="out-of-memory"):
            return (
                "memory",
                f"out of memory at step {event.step}: micro-batches of {event.micro_batch}, not {event.was}",
            )
        case events.ValidationDone():
            score = next(
                (f"{name} {event.logs[name]:.3g}" for name in ("AP", "val_loss") if name in event.logs), ""
            )
            return "validation", f"validated {score}".rstrip()
        case events.AttemptEnded():
            if event.signal:
                return "kill", f"ended by {event.signal}"
            return "stop", f"ended with exit code {event.exit_code}"
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
            (name.removesuffix("_bytes").replace("_", " "), _value_text(value, name))
            for name, value in events.payload(event).items()
            if _is_informative(value)
        ]
        for title, event in newest.items()
    }


def _is_informative(value: Any) -> bool:
    return value not in (None, "", [], {}, -2)


def _value_text(value: Any, name: str = "") -> str:
    if isinstance(value, dict):
        rows = ((str(key), one) for key, one in value.items() if _is_informative(one))
        return ", ".join(
            f"{key.removesuffix('_bytes').replace('_', ' ')} {_value_text(one, key)}" for key, one in rows
        )
    if name.endswith("_bytes") and isinstance(value, int):
        return size(value) or "0"
    if isinstance(value, list):
        shown = ", ".join(_value_text(one) for one in value[:40])
        return shown + (f" … and {len(value) - 40} more" if len(value) > 40 else "")
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _stacks(folder: RunFolder, most: int = 6) -> list[tuple[str, str]]:
    found = []
    for path in [
        folder.stacks / name for name in regular_file.names_in(folder.stacks) if name.endswith(".json")
    ][-most:]:
        capture = stack_files.read(path)
        if capture is not None and capture.looks:
            title = (
                f"{capture.reason or 'captured'}, {capture.phase or 'phase not known'}, step {capture.step}"
            )
            found.append((title, "\n".join(_process_text(one) for one in capture.looks[-1].processes)))
    return found


def _process_text(process: stack_files.ProcessStacks) -> str:
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


def _json(path: Path) -> dict[str, Any]:
    try:
        loaded = plain(regular_file.read_json(path, most=_JSON_BYTES, links=False))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _tail(folder: RunFolder, most: int = 20_000) -> str:
    try:
        with regular_file.open_regular(folder.output, links=False) as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - most))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(
        line.rpartition("\r")[2] if "\r" in line.strip("\r") else line for line in text.split("\n")
    )
