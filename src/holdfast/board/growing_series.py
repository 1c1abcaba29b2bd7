"""A series of numbers that grows for days and stays small: points are thinned as they come, and none is an average.

The lowest and the highest of each stretch are kept, so a spike of one step stays as high as it was. Between two
thinnings points are only appended, so a page needs to be sent what is new.
"""

from __future__ import annotations

import math
from array import array
from typing import Any

_MOST = 1600
_Point = tuple[float, float, float]  # seconds since 1970, step (NaN: not known), value


class GrowingSeries:
    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._columns = (array("d"), array("d"), array("d"))
        self._stretch = 1  # points of the source for each pair that is kept; 1 keeps every point
        self._pending: list[_Point] = []
        self._last: _Point | None = None
        self.thinned = 0  # how often what was sent before has been replaced

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, at: float, step: float, value: float) -> None:
        point = (at, step, value)
        self._last = point
        if self._stretch == 1:
            self._append(point)
        else:
            self._pending.append(point)
            if len(self._pending) >= self._stretch:
                for one in _extremes(self._pending):
                    self._append(one)
                self._pending = []
        if len(self) >= self._most:
            self._thin()

    def _append(self, point: _Point) -> None:
        for column, value in zip(self._columns, point, strict=True):
            column.append(value)

    def _thin(self) -> None:
        points = list(zip(*self._columns, strict=True))
        self._columns = (array("d"), array("d"), array("d"))
        for at in range(0, len(points), 4):
            for one in _extremes(points[at : at + 4]):
                self._append(one)
        self._stretch = 4 if self._stretch == 1 else 2 * self._stretch
        self.thinned += 1

    def since(self, thinned: int, length: int) -> dict[str, Any]:
        """What a page that has `length` points of this thinning misses, with the newest point in any case."""
        begin = length if thinned == self.thinned and 0 <= length <= len(self) else 0
        at, step, value = (column[begin:] for column in self._columns)
        return {
            "thinned": self.thinned,
            "from": begin,
            "at": [round(one, 2) for one in at],
            "step": [_or_none(one) for one in step],
            "value": [_short(one) for one in value],
            "last": self._last and [round(self._last[0], 2), _or_none(self._last[1]), _short(self._last[2])],
        }


def _extremes(points: list[_Point]) -> list[_Point]:
    """The lowest and the highest in the order of time, and the first that is not finite."""
    finite = [one for one in points if math.isfinite(one[2])]
    chosen = {min(finite, key=lambda one: one[2]), max(finite, key=lambda one: one[2])} if finite else set()
    broken = next((at for at, one in enumerate(points) if not math.isfinite(one[2])), None)
    kept = [one for one in dict.fromkeys(points) if one in chosen]
    return kept if broken is None else sorted([*kept, points[broken]], key=lambda one: one[0])


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else int(value) if value.is_integer() else value


def _short(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
