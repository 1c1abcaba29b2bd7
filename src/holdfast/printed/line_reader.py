"""Reads an output piece by piece: what each says of progress, results, checkpoints, warnings and the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from holdfast.printed.columns import ColumnReader
from holdfast.printed.endings import EndWords, ending
from holdfast.printed.metrics import metrics
from holdfast.printed.pieces import pieces
from holdfast.printed.progress import Part, Progress, progress
from holdfast.printed.saves import saved
from holdfast.printed.warning_lines import Warned, warning

#: Characters of a piece that are read. A line of progress has some hundreds; base64 and the like have no end.
_LONGEST = 800
#: Longer gaps say no more than this one, and patterns with several places for space would try each in all of them.
_WIDE = re.compile(r"[ \t]{9,}")
_KEPT_STEPS = 64  # shapes of unsure lines that are remembered
#: A dict printed over several lines (the Object Detection API) continues with a key, below the line with its step.
_OPENS = re.compile(r"\{\s*['\"][\w/ .-]+['\"]: [^{}]*,\s*$")
_CONTINUES = re.compile(r"^\s*['\"][\w/ .-]+['\"]: ")
_MOST_DICT_LINES, _STEP_ABOVE = 60, 3


@dataclass(frozen=True, slots=True)
class Reading:
    """What one piece of output says. All fields are empty for most pieces."""

    text: str
    progress: Progress | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    checkpoint: str | None = None  # the path that was written, "" where the line names none
    warning: Warned | None = None
    end: EndWords | None = None

    def __bool__(self) -> bool:
        return bool(self.progress or self.metrics or self.checkpoint is not None or self.warning or self.end)


class LineReader:
    """Keeps what a line needs from those before it: the heading of columns, counts that have to advance first."""

    def __init__(self) -> None:
        self._columns = ColumnReader()
        self._unsure: dict[str, float] = {}
        self._epoch: tuple[float, int | None] | None = None
        self._dict: dict[str, float] | None = None  # of the lines so far, until it closes
        self._dict_of: Progress | None = None
        self._lines_since = 0  # the last progress, or the beginning of the dict
        self._last: Progress | None = None

    def read(self, text: str) -> Reading:
        """Of one piece without control codes (see `pieces`)."""
        text = _WIDE.sub(" " * 8, text[:_LONGEST])
        position = self._settled(progress(text), text)
        row = self._columns.read(text)
        values = metrics(text, beside_progress=position is not None or self._dict is not None)
        if row is not None:
            values = {**row.metrics, **values}
            position = _merged(position, row.progress)
        position, values = self._dict_lines(text, position, values)
        return Reading(text, self._with_epoch(position), values, saved(text), warning(text), ending(text))

    def _dict_lines(
        self, text: str, position: Progress | None, values: dict[str, float]
    ) -> tuple[Progress | None, dict[str, float]]:
        """Collects a dict that is printed over several lines: its last line has all the numbers, and the step above."""
        self._lines_since += 1
        if position is not None:
            self._last, self._lines_since = position, 0
        if self._dict is None:
            if position is None and _OPENS.search(text):
                self._dict_of = self._last if self._lines_since <= _STEP_ABOVE else None
                self._dict, self._lines_since = values, 0
                return None, {}
            return position, values
        if not _CONTINUES.match(text) or self._lines_since > _MOST_DICT_LINES:
            self._dict = None
            return position, values
        self._dict |= values
        if "}" not in text:
            return None, {}
        collected, self._dict = self._dict, None
        return self._dict_of, collected

    def _settled(self, found: Progress | None, text: str) -> Progress | None:
        """A line that could be a setting or a heading counts once its number has advanced."""
        if found is None or found.sure:
            return found
        shape = re.sub(r"\d[\d.,]*", "0", text)
        at = float(found.step if found.step is not None else found.epoch or 0)
        before = self._unsure.get(shape)
        if len(self._unsure) < _KEPT_STEPS or shape in self._unsure:
            self._unsure[shape] = at
        return replace(found, sure=True) if before is not None and at > before else None

    def _with_epoch(self, found: Progress | None) -> Progress | None:
        """Keras prints the epoch on a line of its own, above the bar."""
        if found is None or found.part is Part.OTHER:
            return found
        if found.epoch is not None:
            self._epoch = (found.epoch, found.of_epochs)
            return found
        if self._epoch is None:
            return found
        return replace(found, epoch=self._epoch[0], of_epochs=self._epoch[1])


def _merged(found: Progress | None, row: Progress) -> Progress:
    if found is None:
        return row
    return Progress(
        found.step if found.step is not None else row.step,
        found.of if found.of is not None else row.of,
        found.epoch if found.epoch is not None else row.epoch,
        found.of_epochs if found.of_epochs is not None else row.of_epochs,
        found.part,
    )


def read_output(data: bytes) -> Iterator[Reading]:
    """All readings of a complete output; pieces that say nothing are left out."""
    return read_pieces(pieces(data))


def read_pieces(texts: Iterable[str]) -> Iterator[Reading]:
    reader = LineReader()
    for text in texts:
        if reading := reader.read(text):
            yield reading
