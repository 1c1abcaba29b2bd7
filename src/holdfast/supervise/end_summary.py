"""The block at the end of a run, whatever happened: outcome, step of planned, duration, memory, folder."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.journal.events import StoppedBy


@dataclass(frozen=True, slots=True)
class EndSummary:
    """What the supervisor itself knows at the end; the explanation follows it."""

    command: str
    folder: str
    exit_code: int | None = None
    signal: str | None = None
    stopped_by_us: StoppedBy = ""
    duration_s: float = 0.0
    step: int | None = None  # None: no training was seen
    planned: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    peak_bytes: int | None = None
    attempts: int = 1
    stalled: str = ""  # the stall that stands at the end, in words
    left_running: int = 0


def render(ending: EndSummary) -> str:
    lines = [f"holdfast: {outcome_sentence(ending)}"]
    lines.append(f"  command  {shorten_command(ending.command)}")
    lines.append(f"  steps    {_steps(ending)}")
    lines.append(f"  took     {duration(ending.duration_s)}{_attempts(ending)}")
    if ending.peak_bytes is not None:
        lines.append(f"  memory   {size(ending.peak_bytes)} at its peak, all processes together")
    if ending.stalled:
        lines.append(f"  stalled  {ending.stalled}")
    if ending.left_running:
        some = "1 process" if ending.left_running == 1 else f"{ending.left_running} processes"
        lines.append(f"  left     {some} that it started still running")
    lines.append(f"  folder   {ending.folder}")
    return "\n".join(lines)


def outcome_sentence(ending: EndSummary) -> str:
    """One sentence, of what is certain only: an exit code of 0 is not yet a success."""
    if ending.stopped_by_us == "stall":
        return "the command stalled and was stopped"
    if ending.stopped_by_us == "interrupt":
        return "the command was interrupted" + _exit_text(ending)
    if ending.stopped_by_us == "terminate":
        return "the command was asked to end by SIGTERM" + _exit_text(ending)
    if ending.signal is not None:
        return f"the command was ended by {ending.signal}"
    if ending.exit_code is None:
        return "the command is gone; how it ended is not known here"
    return f"the command ended with exit code {ending.exit_code}"


def _exit_text(ending: EndSummary) -> str:
    if ending.signal is not None:
        return f" and ended by {ending.signal}"
    return "" if ending.exit_code is None else f" and ended with exit code {ending.exit_code}"


def _steps(ending: EndSummary) -> str:
    if ending.step is None:
        return "no training was seen"
    of = f" of {ending.planned} planned" if ending.planned else ""
    epoch = ""
    if ending.epoch is not None and ending.epochs != 1:  # our trainer counts its whole run as one
        epoch = f", epoch {ending.epoch + 1}" + (f" of {ending.epochs}" if ending.epochs else "")
    return f"{ending.step}{of}{epoch}"


def _attempts(ending: EndSummary) -> str:
    return f" in {ending.attempts} attempts" if ending.attempts > 1 else ""


def shorten_command(command: str, width: int = 90) -> str:
    """On one line; the journal has all of it."""
    line = " ".join(command.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {left} s"


def size(count: int) -> str:
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.2f} GiB"
