"""Follows what a command prints, where no heartbeats say how far it has come.

Only the newest part of a flood of output is read: the position is in its last lines.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.journal.events import ProgressPrinted, WarningSeen
from holdfast.printed.line_reader import LineReader, Reading
from holdfast.printed.metrics import loss_of
from holdfast.printed.pieces import OutputSplitter
from holdfast.printed.progress import Part, Progress
from holdfast.printed.warning_lines import Warned, warning

_MAX_BYTES = 64 << 10  # of one tick
_MAX_PIECES = 20  # of one tick: each takes a quarter of a millisecond
_EVERY_S = 60.0  # between two records of the position
_TEXT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class PrintedPosition:
    """The newest progress of the training itself, and the newest numbers."""

    progress: Progress
    loss: float | None = None
    metrics: tuple[tuple[str, float], ...] = ()
    text: str = ""

    def as_json(self) -> dict[str, float]:
        found = self.progress
        values = {
            "step": found.step,
            "of": found.of,
            "epoch": found.epoch,
            "of_epochs": found.of_epochs,
            "loss": self.loss,
        }
        return {name: value for name, value in values.items() if value is not None}

    def words(self) -> str:
        """``step 100 of 500, epoch 2 of 3``"""
        found = self.progress
        parts = [_of("step", found.step, found.of), _of("epoch", found.epoch, found.of_epochs)]
        return ", ".join(part for part in parts if part)


def _of(word: str, at: float | None, total: int | None) -> str:
    if at is None:
        return ""
    return f"{word} {at:,g}" + (f" of {total:,}" if total is not None else "")


class OutputFollower:
    """`events` are those that the last poll made due."""

    def __init__(self, path: Path) -> None:
        self.position: PrintedPosition | None = None
        self.events: list[ProgressPrinted | WarningSeen] = []
        self._path = path
        self._offset = _size(path)  # what earlier attempts printed is not this one's
        self._splitter = OutputSplitter()
        self._reader = LineReader()
        self._recorded_at = -math.inf
        self._recorded: PrintedPosition | None = None
        self._finite: bool = True
        self._warned: set[Warned] = set()

    def poll(self, now: float) -> PrintedPosition | None:
        """Reads what was printed since the last time."""
        self.events = []
        data = self._new_bytes()
        pieces = self._splitter.feed(data) if data else []
        for text in pieces[:-_MAX_PIECES]:
            if "ran out" in text or "arning" in text or "WARN" in text:
                self._warn(text, warning(text))
        for text in pieces[-_MAX_PIECES:]:
            self._take(self._reader.read(text))
        if not data:  # nothing more comes for now: the bar at the end counts too
            for text in self._splitter.pending[-1:]:
                self._take(LineReader().read(text))
        if self.position is not None and self._is_due(self.position, now):
            self._record(self.position, now)
        return self.position

    def finish(self, now: float) -> None:
        """The last position, at the end of the command."""
        self.poll(now)
        if self.position is not None and self.position != self._recorded:
            self._record(self.position, now)

    def _new_bytes(self) -> bytes:
        size = _size(self._path)
        if size < self._offset:  # the middle of a long log was cut out
            self._offset = size
        if size == self._offset:
            return b""
        start = max(self._offset, size - _MAX_BYTES)
        try:
            with self._path.open("rb") as file:
                file.seek(start)
                data = file.read(size - start)
        except OSError:
            return b""
        self._offset = start + len(data)
        return data

    def _take(self, reading: Reading) -> None:
        self._warn(reading.text, reading.warning)
        before, found = self.position, reading.progress
        loss = loss_of(reading.metrics)
        if found is not None and found.part is Part.TRAINING:
            self.position = PrintedPosition(
                _merged(before, found),
                loss if loss is not None or before is None else before.loss,
                tuple(reading.metrics.items()) or (before.metrics if before is not None else ()),
                reading.text[:_TEXT_CHARACTERS],
            )
        elif reading.metrics and before is not None and found is None:
            merged = dict(before.metrics) | reading.metrics
            self.position = replace(
                before, loss=before.loss if loss is None else loss, metrics=tuple(merged.items())
            )

    def _warn(self, text: str, kind: Warned | None) -> None:
        if kind is not None and kind not in self._warned:
            self._warned.add(kind)
            self.events.append(WarningSeen(text=text[:_TEXT_CHARACTERS]))

    def _is_due(self, position: PrintedPosition, now: float) -> bool:
        broke = self._finite and position.loss is not None and not math.isfinite(position.loss)
        return broke or (position != self._recorded and now - self._recorded_at >= _EVERY_S)

    def _record(self, position: PrintedPosition, now: float) -> None:
        self._recorded_at, self._recorded = now, position
        self._finite = position.loss is None or math.isfinite(position.loss)
        found = position.progress
        self.events.append(
            ProgressPrinted(
                step=found.step,
                of=found.of,
                epoch=found.epoch,
                of_epochs=found.of_epochs,
                loss=position.loss,
                metrics=dict(position.metrics),
                part=found.part.value,
                text=position.text,
            )
        )


def _merged(before: PrintedPosition | None, found: Progress) -> Progress:
    """``Epoch 2/3`` on a line of its own begins a new epoch; its steps follow."""
    if before is None or found.epoch is not None or before.progress.epoch is None:
        return found
    return replace(found, epoch=before.progress.epoch, of_epochs=before.progress.of_epochs)


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
