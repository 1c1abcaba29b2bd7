"""Results in columns under a heading that names them: fastai, Ultralytics, spaCy, the Trainer in a notebook."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.printed.number_text import COUNT, NUMBER, count, number
from holdfast.printed.progress import Progress

_CELLS = re.compile(r"\s{2,}|\s*[|│┃]\s*|\t")
_POSITION = re.compile(r"^(?:epoch|step|iter(?:ation)?|round|e|#|batch)s?$", re.IGNORECASE)
_RESULT = re.compile(r"loss|acc|^box$|^obj$|^cls$|f1|score|error|rmse|mae", re.IGNORECASE)
_AT = re.compile(rf"^(?P<at>{COUNT})(?:/(?P<total>{COUNT}))?$")
_VALUE = re.compile(rf"^{NUMBER}$", re.IGNORECASE)
_FEWEST, _MOST = 2, 24  # columns


@dataclass(frozen=True, slots=True)
class Row:
    progress: Progress
    metrics: dict[str, float]


class ColumnReader:
    """Remembers the last heading and reads the rows below it."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._misses = 0

    def read(self, text: str) -> Row | None:
        cells = _cells(text)
        if _is_heading(cells):
            self._names, self._misses = cells, 0
            return None
        if not self._names:
            return None
        row = _row(self._names, cells)
        self._misses = 0 if row is not None else self._misses + 1
        if self._misses > _MISSES:
            self._names = []
        return row


_MISSES = 200  # other lines after which a heading no longer counts. Chosen: bars and logs stand between rows


def _cells(text: str) -> list[str]:
    return [cell for cell in _CELLS.split(text.strip(" |│┃\t")) if cell]


def _is_heading(cells: list[str]) -> bool:
    return (
        _FEWEST <= len(cells) <= _MOST
        and all(not _VALUE.match(cell) and len(cell) < 40 for cell in cells)
        and any(_POSITION.match(cell) for cell in cells[:3])
        and any(_RESULT.search(cell) for cell in cells)
    )


def _row(names: list[str], cells: list[str]) -> Row | None:
    """Ultralytics prints its bar behind the last cell: only the leading cells are looked at."""
    if len(cells) < len(names):
        return None
    progress, metrics = Progress(), {}
    positions = 0
    for name, cell in zip(names, cells, strict=False):
        at = _AT.match(cell)
        if _POSITION.match(name) and at:
            positions += 1
            progress = _placed(progress, name, at)
        elif _RESULT.search(name) and _VALUE.match(cell):
            value = number(cell)
            if value is not None:
                metrics[name] = value
    return Row(progress, metrics) if positions and metrics else None


def _placed(progress: Progress, name: str, at: re.Match[str]) -> Progress:
    if name.lower() in ("epoch", "epochs", "e"):
        return Progress(progress.step, progress.of, float(at["at"].replace(",", "")), count(at["total"]))
    return Progress(count(at["at"]), count(at["total"]), progress.epoch, progress.of_epochs)
