"""The box around a shape: of points, of a turned rectangle, of an ellipse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Corners = tuple[float, float, float, float]
Point = tuple[float, float]


def around(points: Sequence[Point]) -> Corners | None:
    """None for fewer than two points, which have no box; NaN stays NaN, so that the checks find it."""
    if len(points) < 2:
        return None
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if any(math.isnan(value) for value in (*xs, *ys)):
        return math.nan, math.nan, math.nan, math.nan
    return min(xs), min(ys), max(xs), max(ys)


def turned(corners: Corners, degrees: float, pivot: Point) -> Corners:
    """The box around a rectangle that is turned clockwise about a point."""
    if not degrees or not degrees % 360:
        return corners
    x1, y1, x2, y2 = corners
    found = around([_turn(point, degrees, pivot) for point in ((x1, y1), (x2, y1), (x2, y2), (x1, y2))])
    assert found is not None
    return found


def ellipse(cx: float, cy: float, rx: float, ry: float, radians: float = 0.0) -> Corners:
    cosine, sine = math.cos(radians), math.sin(radians)
    half_x, half_y = math.hypot(rx * cosine, ry * sine), math.hypot(rx * sine, ry * cosine)
    return cx - half_x, cy - half_y, cx + half_x, cy + half_y


def pairs(values: Iterable[float | None]) -> list[Point] | None:
    """`x1, y1, x2, y2, …` as points; None where a number is missing or one is left over."""
    known = list(values)
    numbers = [value for value in known if value is not None]
    if not numbers or len(numbers) != len(known) or len(numbers) % 2:
        return None
    return list(zip(numbers[0::2], numbers[1::2], strict=True))


def _turn(point: Point, degrees: float, pivot: Point) -> Point:
    angle = math.radians(degrees)
    x, y = point[0] - pivot[0], point[1] - pivot[1]
    return (
        pivot[0] + x * math.cos(angle) - y * math.sin(angle),
        pivot[1] + x * math.sin(angle) + y * math.cos(angle),
    )
