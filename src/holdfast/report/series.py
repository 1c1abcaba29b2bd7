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
    hidden: bool = False  # there for who clicks its name


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    unit: str  # "bytes", "s", "1", "/s", "cores"
    series: list[Series] = field(default_factory=list)
    log: bool = False  # a logarithmic axis reads better
    stacked: bool = False  # parts of a whole, one on top of the other
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
    return thin_together([points], most)[0]


def thin_together(columns: Sequence[Sequence[Point]], most: int = 2000) -> list[list[Point]]:
    """The same moments of each column, which are of one length: what is an extreme in one stays in all."""
    length = len(columns[0])
    if length <= most:
        return [list(points) for points in columns]
    stretches = max(1, most // (2 + 3 * len(columns)))
    kept: list[int] = []
    for number in range(stretches):
        start, end = number * length // stretches, (number + 1) * length // stretches
        kept += sorted(set().union(*(_extremes(points, start, end) for points in columns)))
    return [[points[at] for at in kept] for points in columns]


def _extremes(points: Sequence[Point], start: int, end: int) -> set[int]:
    chosen = {start, end - 1}
    finite = [at for at in range(start, end) if math.isfinite(points[at][1])]
    if finite:
        chosen |= {min(finite, key=lambda at: points[at][1]), max(finite, key=lambda at: points[at][1])}
    broken = next((at for at in range(start, end) if not math.isfinite(points[at][1])), None)
    return chosen if broken is None else chosen | {broken}


def rates(points: Iterable[Point]) -> list[Point]:
    """Change a second of a counter; a counter that falls has been restarted and gives no rate there."""
    found: list[Point] = []
    last: Point | None = None
    for at, value in points:
        if last is not None and at > last[0] and value >= last[1]:
            found.append((at, (value - last[1]) / (at - last[0])))
        last = (at, value)
    return found


def paces(points: Sequence[Point], least_s: float = 5.0) -> list[Point]:
    """Change a second of a counter of slow steps, over stretches of at least `least_s`.

    Between two samples a second apart there is one step or none, and their rates would say nothing. Before the
    first step there is no pace; a counter that does not move has one that falls.
    """
    moved = next((at for at in range(1, len(points)) if points[at][1] != points[at - 1][1]), None)
    if moved is None:
        return []
    least_s = min(least_s, (points[-1][0] - points[moved - 1][0]) / 20)
    chosen = [points[moved - 1]]
    for at, value in points[moved:]:
        if at - chosen[-1][0] >= least_s and (value != chosen[-1][1] or at - chosen[-1][0] > 4 * least_s):
            chosen.append((at, value))
    return rates(chosen)
