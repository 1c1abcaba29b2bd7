"""Small plots as SVG text: bars, a histogram, a scatter, a heat map. Numbers in, markup out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 420, 220
LEFT, BOTTOM, TOP, RIGHT = 44, 34, 10, 22


def bars(rows: Sequence[tuple[str, int]]) -> str:
    """Horizontal bars, one a row, with the count at its end."""
    if not rows:
        return _empty()
    most = max(count for _, count in rows) or 1
    step, label = 22, 130
    parts = []
    for number, (name, count) in enumerate(rows):
        y = number * step
        length = max(1.0, count / most * (WIDTH - label - 60))
        short = name if len(name) <= 18 else name[:17] + "…"
        parts.append(
            f'<text x="{label - 6}" y="{y + 15}" text-anchor="end"><title>{escape(name)}</title>{escape(short)}</text>'
            f'<rect class="bar" x="{label}" y="{y + 4}" width="{length:.1f}" height="{step - 8}"/>'
            f'<text x="{label + length + 5:.1f}" y="{y + 15}">{count}</text>'
        )
    return _svg("".join(parts), height=len(rows) * step + 4)


def histogram(values: Sequence[float], unit: str, *, bins: int = 24, log: bool = False) -> str:
    """Counts of values; with `log` the bins grow by a factor, for sizes that span decades."""
    known = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not known:
        return _empty()
    scale = math.log10 if log else float
    low, high = min(map(scale, known)), max(map(scale, known))
    span = (high - low) or 1.0
    if not log and span < bins and all(value == int(value) for value in known):
        low, span, bins = low - 0.5, span + 1.0, int(span) + 1  # whole numbers: a bar each
    counts = [0] * bins
    for value in known:
        counts[min(bins - 1, int((scale(value) - low) / span * bins))] += 1
    most = max(counts)
    wide = (WIDTH - LEFT - RIGHT) / bins
    tall = HEIGHT - BOTTOM - TOP

    def edge(position: float) -> float:
        at = low + span * position
        return 10.0**at if log else at

    parts = [
        f'<rect class="bar" x="{LEFT + n * wide:.1f}" y="{TOP + tall * (1 - count / most):.1f}" '
        f'width="{wide - 1:.1f}" height="{tall * count / most:.1f}">'
        f"<title>{number(edge(n / bins))} to {number(edge((n + 1) / bins))}{escape(unit)}: {count}</title></rect>"
        for n, count in enumerate(counts)
        if count
    ]
    ticks = [(part / 4, edge(part / 4)) for part in range(5)]
    if not log and span == bins:  # a bar each: the numbers stand below their bars
        ticks = [((n + 0.5) / bins, low + n + 0.5) for n in range(0, bins, max(1, bins // 8))]
    return _svg("".join(parts) + _axes(ticks, [0, most / 2, most], unit))


def scatter(points: Sequence[tuple[float, float]], unit: str) -> str:
    """Points on logarithmic axes: width across, height up."""
    known = [(x, y) for x, y in points if x > 0 and y > 0 and math.isfinite(x + y)]
    if not known:
        return _empty()
    low_x, high_x = _span([x for x, _ in known])
    low_y, high_y = _span([y for _, y in known])
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - TOP

    def place(value: float, low: float, high: float) -> float:
        return (math.log10(value) - low) / (high - low)

    radius = 2.2 if len(known) > 100 else 4
    parts = [
        f'<circle class="dot" cx="{LEFT + wide * place(x, low_x, high_x):.1f}" '
        f'cy="{TOP + tall * (1 - place(y, low_y, high_y)):.1f}" r="{radius}"/>'
        for x, y in known
    ]
    ticks_x = [(part / 4, 10 ** (low_x + (high_x - low_x) * part / 4)) for part in range(5)]
    ticks_y = [10 ** (low_y + (high_y - low_y) * part / 2) for part in range(3)]
    return _svg("".join(parts) + _axes(ticks_x, ticks_y, unit))


def curves(rows: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Lines of values between 0 and 1 over even steps from 0 to 1, one a name."""
    if not rows:
        return _empty()
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - TOP
    lines = []
    for at, (name, values) in enumerate(rows):
        last = max(1, len(values) - 1)
        path = " ".join(
            f"{LEFT + wide * n / last:.1f},{TOP + tall * (1 - min(max(value, 0.0), 1.0)):.1f}"
            for n, value in enumerate(values)
        )
        lines.append(
            f'<polyline class="curve" points="{path}" stroke="{hue(at)}"><title>{escape(name)}</title></polyline>'
        )
    return _svg("".join(lines) + _axes([(part / 4, part / 4) for part in range(5)], [0, 0.5, 1], ""))


def hue(at: int) -> str:
    """One hue a place in a list, by the golden angle, so that neighbours look different."""
    return f"hsl({at * 137.508 % 360:.0f} 70% {44 if at % 2 else 54}%)"


def heat_map(grid: Sequence[Sequence[int]]) -> str:
    """Where boxes are in their images: darker is more."""
    most = max((count for row in grid for count in row), default=0)
    if not most:
        return _empty()
    rows, columns = len(grid), len(grid[0])
    wide, tall = 300 / columns, 220 / rows
    cells = "".join(
        f'<rect class="heat" x="{c * wide:.1f}" y="{r * tall:.1f}" width="{wide:.1f}" height="{tall:.1f}" '
        f'style="fill-opacity:{count / most:.3f}"><title>{count}</title></rect>'
        for r, row in enumerate(grid)
        for c, count in enumerate(row)
        if count
    )
    return _svg(cells + '<rect class="frame" x="0" y="0" width="300" height="220"/>', width=300, height=220)


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = math.log10(min(values)), math.log10(max(values))
    return (low - 0.05, high + 0.05) if high - low < 0.02 else (low, high)


def _axes(across: Sequence[tuple[float, float]], up: Sequence[float], unit: str) -> str:
    """`across` are places from 0 to 1 and what is there; `up` is at even distances."""
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - TOP
    base = TOP + tall
    line = f'<path class="axis" d="M{LEFT} {TOP}V{base}H{LEFT + wide}"/>'
    below = "".join(
        f'<text x="{LEFT + wide * place:.0f}" y="{base + 15}" text-anchor="middle">{number(value)}</text>'
        for place, value in across
    )
    beside = "".join(
        f'<text x="{LEFT - 5}" y="{base - tall * n / (len(up) - 1) + 4:.0f}" text-anchor="end">{number(value)}</text>'
        for n, value in enumerate(up)
    )
    return (
        line
        + below
        + beside
        + f'<text x="{LEFT + wide}" y="{base + 29}" text-anchor="end">{escape(unit)}</text>'
    )


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.2g}"


def _svg(body: str, *, width: int = WIDTH, height: int = HEIGHT) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img">{body}</svg>'


def _empty() -> str:
    return '<p class="dim">nothing to show</p>'
