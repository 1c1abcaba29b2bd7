"""Series of numbers over time, thinned so that a long run makes a small page and no extreme is lost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    points: list[Point]
    dashed: bool = False  # a limit, or something that was planned


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    unit: str  # "bytes", "s", "1", "/s", "cores"
    series: list[Series] = field(default_factory=list)
    log: bool = False  # a logarithmic axis reads better
    note: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment worth seeing on every chart."""

    at: float
    kind: str  # epoch | save | validation | stall | kill | restart | error | stop | nan
    label: str


def thin(points: Sequence[Point], most: int = 2000) -> list[Point]:
    """At most about `most` points: the first, the last, the lowest and the highest of each stretch.

    Points are real ones, never averages, so a spike of a single step stays as high as it was, and a
    value that is not finite stays visible as a gap.
    """
    if len(points) <= most:
        return list(points)
    stretches = max(1, most // 5)
    kept: list[Point] = []
    for number in range(stretches):
        start = number * len(points) // stretches
        kept += _extremes(points[start : (number + 1) * len(points) // stretches])
    return kept


def _extremes(stretch: Sequence[Point]) -> list[Point]:
    chosen = {0, len(stretch) - 1}
    finite = [i for i, (_, value) in enumerate(stretch) if math.isfinite(value)]
    if finite:
        chosen |= {min(finite, key=lambda i: stretch[i][1]), max(finite, key=lambda i: stretch[i][1])}
    broken = next((i for i, (_, value) in enumerate(stretch) if not math.isfinite(value)), None)
    if broken is not None:
        chosen.add(broken)
    return [stretch[i] for i in sorted(chosen)]


def rates(points: Iterable[Point]) -> list[Point]:
    """Change a second of a counter; a counter that falls has been restarted and gives no rate there."""
    found: list[Point] = []
    last: Point | None = None
    for at, value in points:
        if last is not None and at > last[0] and value >= last[1]:
            found.append((at, (value - last[1]) / (at - last[0])))
        last = (at, value)
    return found
