"""Evidence from a log alone: what the run printed, put into the same events that a run folder has.

A log has no exit status and no measurements. How the run ended is known by the words of an uncaught traceback, of the
shell, the kernel, SLURM or Kubernetes behind everything that trained; a traceback after which the training continued
was caught. `judge` never calls a finding established that rests on printed words only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import NotALog
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, facts
from holdfast.explain.readings import error
from holdfast.explain.readings.output import Line, Output
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev
from holdfast.printed.endings import End, EndWords
from holdfast.printed.line_reader import LineReader, Reading
from holdfast.printed.log_scan import ScannedLog
from holdfast.printed.metrics import is_validation, loss_of
from holdfast.printed.pieces import split
from holdfast.printed.prefixes import without_prefix
from holdfast.printed.progress import Part
from holdfast.printed.tracebacks import TracebackText, is_native_log, tracebacks
from holdfast.printed.warning_lines import Warned

_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
_ASKED_TO_END = (End.TIME_LIMIT, End.PREEMPTED, End.EVICTED, End.CANCELLED, End.TERMINATED)
#: States of a bar that may still be printed after the scheduler's word: the process has some seconds to end.
_LAST_STATES = 5
#: Lines of the program itself behind an error with which it still is the end. Chosen, as for the output of a run.
_LAST_WORDS = 12
_MOST_LOSSES = 300
_USAGE = 2  # the exit code of argparse


@dataclass(frozen=True, slots=True)
class _Piece:
    number: int  # of its line
    reading: Reading

    @property
    def text(self) -> str:
        return self.reading.text

    @property
    def position(self) -> tuple[float | None, int | None] | None:
        found = self.reading.progress
        return None if found is None or found.part is Part.OTHER else (found.epoch, found.step)


@dataclass(frozen=True, slots=True)
class _Ended:
    """How the log says that the run ended, and where."""

    place: int
    event: ev.AttemptEnded | None  # None: the machine failed
    raised: tuple[TracebackText, ...] = ()
    out_of_memory: bool = False


def evidence_of(log: ScannedLog, *, name: str, path: Path, written_at: float, now: float) -> Evidence:
    """The evidence that a log gives; `written_at`: when its last line was written, as far as that is known."""
    pieces = _pieces(log)
    if not pieces:
        raise NotALog(f"{name} has no text", where=name, found="zero bytes, or codes of a terminal alone")
    ended = _ending(pieces)
    records = _Records(name, written_at, pieces)
    records.add_course()
    if ended is not None:
        records.add_end(ended)
    lines = tuple(Line(one.number, one.text, file=name) for one in pieces)
    skipped = not log.complete and Fact("missing.log-lines", {"size_bytes": log.size})
    return Evidence(
        name=name,
        path=path,
        now=now,
        entries=tuple(records.entries),
        output=Output(lines, log.size, True),
        fatal=_fatal(pieces, name),
        alive=None if ended is None else False,
        same_boot=False if ended is not None and ended.event is None else None,
        missing=tuple(facts(Fact("missing.all-but-the-log"), skipped)),
        log=name,
        end_text=pieces[ended.place].text if ended is not None else "",
        end_words=pieces[ended.place].reading.end if ended is not None else None,
        oom_printed=ended is not None and ended.out_of_memory,
    )


def course_of(
    log: ScannedLog, *, name: str, at: float, began_mono: float, ended_mono: float
) -> tuple[Recorded[Any], ...]:
    """The course of a watched run by its output, where nothing inside reports it. How it ended is known there.

    When a line was printed is not: its place between the first and the last is used instead.
    """
    pieces = _pieces(log)
    records = _Records(name, at, pieces, span=(began_mono, ended_mono))
    records.add_course()
    return tuple(records.entries)


def _pieces(log: ScannedLog) -> list[_Piece]:
    reader = LineReader()
    return [
        _Piece(line.number, reader.read(without_prefix(text)))
        for line in log.lines
        for text in split(line.text)
    ]


def _fatal(pieces: Sequence[_Piece], name: str) -> error.Fatal | None:
    starts = [at for at, one in enumerate(pieces) if "Fatal Python error: " in one.text]
    if not starts:
        return None
    text = "\n".join(one.text for one in pieces[starts[-1] :])
    return error.read_fatal(text, source=f"{name}:{pieces[starts[-1]].number}")


# -- the end -----------------------------------------------------------------------------------------


def _ending(pieces: Sequence[_Piece]) -> _Ended | None:
    printed = [one for one in tracebacks([one.text for one in pieces]) if not one.in_thread]
    raised = _uncaught(pieces, printed)
    words = _last_words(pieces, printed)
    no_reason = not raised or raised[-1].type in error.LAUNCHER_ERRORS
    if words is not None and (no_reason or _outranks(pieces[words])):
        return _by_words(words, pieces[words], raised)
    raised = raised or _without_traceback(pieces)
    if raised:
        return _Ended(raised[-1].at, ev.AttemptEnded(exit_code=1), raised)
    return None if _breaks_off(pieces) else _Ended(len(pieces) - 1, ev.AttemptEnded(exit_code=0))


def _uncaught(pieces: Sequence[_Piece], printed: Sequence[TracebackText]) -> tuple[TracebackText, ...]:
    """The traceback that ended the run, behind that of the process below a launcher."""
    found: list[TracebackText] = []
    for one in reversed(printed):
        if _continued(pieces, one.at + 1) or (not found and _told_more(pieces, one)):
            break
        found.append(one)
        if one.type not in error.LAUNCHER_ERRORS:
            break
    return tuple(reversed(found))


#: An exception of Python's or of a package, and what it says; `TestError: 0.31` is a measure.
_ERROR_LINE = re.compile(
    r"^(?P<type>(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)): (?P<message>(?![-+]?[\d.]+\s*%?$).*\S)$"
)


def _without_traceback(pieces: Sequence[_Piece]) -> tuple[TracebackText, ...]:
    """An error as the last thing that the program said: a handler printed it, or this is the end of a log."""
    own = [at for at, one in enumerate(pieces) if one.text.strip() and not _OF_OTHERS.search(one.text)]
    last = pieces[own[-1]].text.strip() if own else ""
    found = _ERROR_LINE.match(last)
    if found is None or _continued(pieces, own[-1] + 1):
        return ()
    kind, message = found["type"], found["message"]
    return (TracebackText(kind, message, (), (), (), at=own[-1], end=own[-1] + 1, start=own[-1]),)


def _continued(pieces: Sequence[_Piece], place: int) -> bool:
    """Whether the training moved after this place. A bar that is drawn once more has not moved."""
    before = [one.position for one in pieces[:place] if one.position is not None]
    return any(
        one.position is not None and one.position not in before[-1:] and not one.text.startswith("wandb:")
        for one in pieces[place:]
    )


_FINISHED = re.compile(
    r"\b(?:training|run|job|experiment|everything)\b.{0,30}\b(?:complete[d]?|finished|done|successful(?:ly)?)\b|"
    r"^\W*(?:all )?(?:done|finished|complete[d]?)\b|`?max_(?:epochs|steps)=\d+`? reached|epochs completed in|"
    r"'train_runtime'",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"HYDRA_FULL_ERROR|^(?:wandb|slurmstepd|srun|nohup|make)\b|"
    r": line \d+: +\d+ |^[WE]\d{4} |^(?:WARNING|ERROR):torch\.distributed"
)


def _told_more(pieces: Sequence[_Piece], raised: TracebackText) -> bool:
    """Whether the program itself said much, or that it was done, after an error. An error that a library caught and
    logged is the end only where the program says nothing after it."""
    place = raised.end if raised.from_the_start else raised.at + 1
    behind = [one.text for one in pieces[place:] if one.position is None]  # a bar is drawn once more
    own = [text for text in behind if not is_native_log(text) and not _OF_OTHERS.search(text)]
    finished = any(_FINISHED.search(one.text) for one in pieces[raised.at + 1 :])
    return finished or len(own) > (_LAST_WORDS if raised.from_the_start else 0)


def _last_words(pieces: Sequence[_Piece], printed: Sequence[TracebackText]) -> int | None:
    """The place where somebody else says how it ended, with next to no training behind it."""
    own = {at for one in printed if one.type not in error.LAUNCHER_ERRORS for at in range(one.start, one.end)}
    moved, found = 0, None
    for place in range(len(pieces) - 1, -1, -1):
        one = pieces[place]
        end = one.reading.end
        if end is not None and end.kind is not End.INTERRUPTED and place not in own:
            if found is None or _rank(end) > _rank(pieces[found].reading.end):
                found = place
        elif one.position is not None:
            moved += 1
            if moved > (_LAST_STATES if found is None else 0):
                break
    if found is None or (_continued(pieces, found + 1) and not _outranks(pieces[found])):
        return None
    return found


def _rank(end: EndWords | None) -> int:
    """The scheduler knows more than the shell."""
    if end is None:
        return 0
    return 3 if end.kind is End.OUT_OF_MEMORY else 2 if end.kind in _ASKED_TO_END else 1


def _outranks(piece: _Piece) -> bool:
    end = piece.reading.end
    return end is not None and end.reported_by in ("kernel", "slurm", "kubernetes", "scheduler")


def _by_words(place: int, piece: _Piece, raised: tuple[TracebackText, ...]) -> _Ended | None:
    end = piece.reading.end
    assert end is not None
    if end.kind is End.OUT_OF_MEMORY:
        own = [one for one in raised if one.type not in error.LAUNCHER_ERRORS]
        killed = {"exit_code": 1} if own else {"signal": "SIGKILL"}
        return _Ended(place, ev.AttemptEnded(**killed), raised, out_of_memory=True)
    if end.kind in _ASKED_TO_END:
        return _Ended(place, ev.AttemptEnded(signal="SIGTERM"))
    if end.kind is End.EXITED:
        code = _USAGE if end.exit_code is None else end.exit_code
        return _Ended(place, ev.AttemptEnded(exit_code=code), raised)
    if end.kind is End.NODE_FAILED:
        return _Ended(place, None)
    signal = _SIGNALS.get(end.signal or 0, "SIGABRT" if end.kind is End.CRASHED else "SIGKILL")
    return _Ended(place, ev.AttemptEnded(signal=signal, core_dumped="core dumped" in piece.text))


def _breaks_off(pieces: Sequence[_Piece]) -> bool:
    """The last thing it says of its progress is less than what it planned, and nothing says that it was done."""
    moved = [one for one in pieces if one.position is not None]
    if not moved or any(_stops(one) for one in pieces[-_LAST_WORDS:]):
        return False
    last = moved[-1].reading.progress
    assert last is not None
    if last.part is Part.VALIDATION or pieces.index(moved[-1]) < len(pieces) - _LAST_WORDS:
        return False
    if last.of is not None and last.step is not None and last.step < last.of - 1:
        return True
    return last.of_epochs is not None and last.epoch is not None and last.epoch < last.of_epochs - 1


def _stops(piece: _Piece) -> bool:
    """It says that it is done, or that it stops by itself."""
    warned = piece.reading.warning in (Warned.DATA_RAN_OUT, Warned.NOT_FINITE)
    return warned or bool(_STOPPED_EARLY.search(piece.text) or _FINISHED.search(piece.text))


# -- the events --------------------------------------------------------------------------------------


class _Records:
    """The events of the log, as they would be in a journal."""

    def __init__(
        self, name: str, at: float, pieces: Sequence[_Piece], span: tuple[float, float] | None = None
    ) -> None:
        """`span`: when the first and the last line were printed, by the monotonic clock."""
        self.entries: list[Recorded[Any]] = []
        self._name, self._at, self._pieces, self._span = name, at, pieces, span

    def _add(self, event: ev.Event, place: int, pid: int = 1) -> None:
        line = self._pieces[place].number
        self.entries.append(Recorded(event, line, self._at, self._mono(line), pid=pid, file=self._name))

    def _mono(self, line: int) -> float:
        if self._span is None:
            return float(line)
        began, ended = self._span
        return began + (ended - began) * line / max(1, self._pieces[-1].number)

    def add_course(self) -> None:
        losses = _losses(self._pieces)
        stride = max(1, len(losses) // _MOST_LOSSES)
        for place, step, loss in [*losses[:-1:stride], *losses[-1:]]:
            self._add(ev.LossSeen(step=step, logs={"loss": loss}), place)
        self._add_broken_loss(losses)
        for place, one in enumerate(self._pieces):
            if _RAN_OUT in one.text:
                self._add_short_fit(place) if losses else self._add_empty_passes(place)
            if one.reading.warning is not None:
                self._add(ev.WarningSeen(text=one.text), place)
            if stop := _STOPPED_EARLY.search(one.text):
                self._add_early_stop(place, stop)

    def _add_broken_loss(self, losses: Sequence[tuple[int, int, float]]) -> None:
        """The first loss that is not finite, where the last is not either."""
        if not losses or math.isfinite(losses[-1][2]):
            return
        first = max((at + 1 for at, (_, _, loss) in enumerate(losses) if math.isfinite(loss)), default=0)
        place, step, loss = losses[first]
        before = [value for _, _, value in losses[:first] if math.isfinite(value)]
        last = before[-1] if before else None
        event = ev.NonFiniteSeen(
            what="loss", step=step, value=str(loss), last_finite=last, recent=list(before[-_RECENT:])
        )
        self._add(event, place)

    def _add_short_fit(self, place: int) -> None:
        """Keras prints the count of an epoch exactly; what other programs print may be every hundredth step."""
        bars = [one.reading.progress for one in self._pieces[: place + 1] if one.reading.progress is not None]
        last = next((one for one in reversed(bars) if one.of and one.step is not None), None)
        if last is None or last.of is None or last.step is None:
            return
        epochs = last.of_epochs
        self._add(ev.FitStarted(epochs=epochs, steps_per_epoch=last.of, planned_steps_per_epoch=last.of), 0)
        self._add(ev.EpochDone(epoch=int(last.epoch or 1) - 1, steps=last.step, planned_steps=last.of), place)

    def _add_empty_passes(self, place: int) -> None:
        """Epoch after epoch is announced, and no step of any is printed."""
        positions = [one.position for one in self._pieces if one.position is not None]
        epochs = {epoch for epoch, _ in positions if epoch is not None}
        if len(epochs) > 1 and all(step is None for _, step in positions):
            self._add(ev.EmptyPassSeen(passes=len(epochs)), place)

    def _add_early_stop(self, place: int, stop: re.Match[str]) -> None:
        words = {name: value for name, value in stop.groupdict().items() if value}
        settings: dict[str, Any] = {"stopped_epoch": None, "monitor": words.get("monitor", "its metric")}
        if "patience" in words:
            settings["patience"] = int(words["patience"])
        epoch = int(words["epoch"]) - 1 if "epoch" in words else None
        self._add(ev.StopRequested(by="EarlyStopping", epoch=epoch, settings=settings), place)

    def add_end(self, ended: _Ended) -> None:
        for one in ended.raised:
            launcher = one.type in error.LAUNCHER_ERRORS and one is ended.raised[-1]
            self._add(error.exception_of(one), one.at, pid=1 if launcher else 2)
        if ended.event is not None:
            self._add(ended.event, ended.place)


_RECENT = 40
_RAN_OUT = "ran out of data"
_STOPPED_EARLY = re.compile(
    r"^Epoch 0*(?P<epoch>\d+): early stopping$|"
    r"EarlyStopping: Training stopped early as no improvement observed in last (?P<patience>\d+)|"
    r"Monitored metric (?P<monitor>\w+) did not improve in the last \d+ records.*Signaling Trainer to stop"
)


def _losses(pieces: Sequence[_Piece]) -> list[tuple[int, int, float]]:
    """Place, step and training loss of the lines that have one; a step counts on from epoch to epoch."""
    found: list[tuple[int, int, float]] = []
    at = 0
    for place, one in enumerate(pieces):
        values = {name: value for name, value in one.reading.metrics.items() if not is_validation(name)}
        progress, loss = one.reading.progress, loss_of(values)
        if loss is None or (progress is not None and progress.part is not Part.TRAINING):
            continue
        at = max(at + 1, _step_of(one.reading))
        found.append((place, at, loss))
    return found


def _step_of(reading: Reading) -> int:
    progress = reading.progress
    if progress is None:
        return 0
    if progress.of and progress.epoch is not None and progress.step is not None:
        return int(max(0.0, progress.epoch - 1) * progress.of) + progress.step
    return progress.step or 0
