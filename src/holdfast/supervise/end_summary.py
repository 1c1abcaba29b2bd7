"""The block that is printed at the end of a run: outcome, steps of planned, duration, memory, folder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.journal.events import StoppedBy
from holdfast.units import count, long_duration, size


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
    printed: str = ""  # "step 100 of 500", where only the output says so
    peak_bytes: int | None = None
    attempts: int = 1
    stalled: str = ""  # the description of a stall that was not over at the end
    left_running: int = 0


def render(summary: EndSummary) -> str:
    lines = [f"holdfast: {outcome_sentence(summary)}"]
    lines.append(f"  command  {shorten_command(summary.command)}")
    lines.append(f"  steps    {_steps(summary)}")
    lines.append(f"  took     {long_duration(summary.duration_s)}{_attempts(summary)}")
    if summary.peak_bytes:  # 0: it ended before it was looked at
        lines.append(f"  memory   {size(summary.peak_bytes)} at its peak, all processes together")
    if summary.stalled:
        lines.append(f"  stalled  {summary.stalled}")
    if summary.left_running:
        processes = count(summary.left_running, "child process", "child processes")
        lines.append(f"  left     still running: {processes}")
    lines.append(f"  folder   {summary.folder}")
    return "\n".join(lines)


def outcome_sentence(summary: EndSummary) -> str:
    """One sentence, of what is certain: an exit code of 0 is not yet a success."""
    if summary.stopped_by_us == "stall":
        return "the command stalled and was stopped"
    if summary.stopped_by_us == "interrupt":
        return "the command was interrupted" + _exit_text(summary)
    if summary.stopped_by_us == "terminate":
        return "the command received SIGTERM" + _exit_text(summary)
    if summary.signal is not None:
        return f"the command was ended by {summary.signal}"
    if summary.exit_code is None:
        return "the command is gone; how it ended is not known here"
    return f"the command ended with exit code {summary.exit_code}"


def _exit_text(summary: EndSummary) -> str:
    if summary.signal is not None:
        return f" and ended by {summary.signal}"
    return "" if summary.exit_code is None else f" and ended with exit code {summary.exit_code}"


def _steps(summary: EndSummary) -> str:
    if summary.step is None:
        return f"{summary.printed} (as printed)" if summary.printed else "no training was seen"
    of = f" of {summary.planned} planned" if summary.planned else ""
    epoch = ""
    if summary.epoch is not None and summary.epochs != 1:  # our trainer counts its run as one epoch
        epoch = f", epoch {summary.epoch + 1}" + (f" of {summary.epochs}" if summary.epochs else "")
    return f"{summary.step}{of}{epoch}"


def _attempts(summary: EndSummary) -> str:
    return f" in {summary.attempts} attempts" if summary.attempts > 1 else ""


def shown_command(command: Sequence[str], here: Path) -> str:
    """As it would be typed: the program by its name, paths from the current folder. The journal has all of it."""
    program, *rest = command
    words = [
        Path(program).name if program.startswith("/") else program,
        *(_shown_path(word, here) for word in rest),
    ]
    return shlex.join(words)


def _shown_path(word: str, here: Path) -> str:
    option, equals, value = word.rpartition("=")
    if not value.startswith("/"):
        return word
    for folder, instead in ((here, ""), (Path.home(), "~/")):
        if value.startswith(f"{folder}/"):
            return f"{option}{equals}{instead}{value.removeprefix(f'{folder}/')}"
    return word


def shorten_command(command: str, width: int = 90) -> str:
    """On one line; the journal has all of it."""
    line = " ".join(command.split())
    return line if len(line) <= width else line[: width - 1] + "…"
