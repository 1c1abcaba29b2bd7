"""LR range test (Smith 2017): the learning rate rises from step to step, until the loss rises too. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LOWEST, HIGHEST = 1e-6, 1.0
SMOOTHING = 0.9
#: A recipe's learning rate is reported when it is above TOO_HIGH times the suggestion (twice the highest that still
#: worked) or TOO_LOW times below it.
TOO_HIGH, TOO_LOW = 20.0, 10.0
AVERAGE_REACH = 5  # steps on either side that a loss is averaged with
MIN_STEPS = 10  # without them there is no suggestion
#: Times the noise of such an average: what counts as a fall, and what as the same level.
SIGNIFICANT_FALL, SAME_LEVEL = 4.0, 2.0
DIVERGED_FACTOR = 4.0  # times the lowest loss: the network has diverged, and the test ends


@dataclass(frozen=True, slots=True)
class RangePoint:
    learning_rate: float
    loss: float
    smooth: float


@dataclass(frozen=True, slots=True)
class Suggestion:
    learning_rate: float | None  # None: the test gives none
    reason: str


def learning_rate_at(step: int, steps: int) -> float:
    """Evenly spaced on a logarithmic scale."""
    return float(LOWEST * (HIGHEST / LOWEST) ** (step / max(1, steps - 1)))


def smoothed(losses: Sequence[float]) -> list[float]:
    """A running mean, corrected for its start, so that the first points are not pulled towards zero."""
    mean, smooth = 0.0, []
    for number, loss in enumerate(losses, start=1):
        mean = SMOOTHING * mean + (1 - SMOOTHING) * loss
        smooth.append(mean / (1 - SMOOTHING**number))
    return smooth


def points(learning_rates: Sequence[float], losses: Sequence[float]) -> list[RangePoint]:
    return [RangePoint(*values) for values in zip(learning_rates, losses, smoothed(losses), strict=True)]


def has_diverged(losses: Sequence[float]) -> bool:
    """Whether the loss is not finite, or far above its lowest."""
    if not losses:
        return False
    smooth = smoothed(losses)
    return not math.isfinite(losses[-1]) or smooth[-1] > DIVERGED_FACTOR * min(smooth)


def suggest(measured: Sequence[RangePoint], *, batch: int) -> Suggestion:
    """A tenth of the highest learning rate at which the loss was still lowest, if it fell by more than its noise."""
    finite = [point for point in measured if math.isfinite(point.loss)]
    if len(finite) < MIN_STEPS:
        return Suggestion(
            None, f"only {len(finite)} steps were finite; the loss diverges at every learning rate tried"
        )
    levels = centred([point.loss for point in finite])
    lowest = min(range(len(levels)), key=lambda at: levels[at])
    fell = _mean(levels[:MIN_STEPS]) - levels[lowest]
    if lowest < AVERAGE_REACH or fell <= 0:
        return Suggestion(None, "the loss rose from the first step on; no learning rate tried lowers it")
    batch_noise = _loss_noise([point.loss for point in finite[: lowest + 1]], levels)
    noise = batch_noise / math.sqrt(2 * AVERAGE_REACH + 1)
    if fell < SIGNIFICANT_FALL * noise:
        fall = f"the loss fell by {fell:.2g}, and its noise from batch to batch is {batch_noise:.2g}"
        return Suggestion(None, f"{fall}: not significant; try more steps or larger batches")
    steepest = min(range(AVERAGE_REACH, lowest + 1), key=lambda at: levels[at] - levels[at - AVERAGE_REACH])
    # On a flat stretch the lowest point is noise: use the learning rate where the loss starts to rise.
    highest = lowest
    while highest + 1 < len(levels) and levels[highest + 1] <= levels[lowest] + SAME_LEVEL * noise:
        highest += 1
    beyond = "up to the highest learning rate tried" if highest == len(finite) - 1 else "and rose beyond it"
    return Suggestion(
        float(f"{finite[highest].learning_rate / 10:.1g}"),
        f"with batches of {batch} the loss was lowest at learning rates from {finite[lowest].learning_rate:.2g} to "
        f"{finite[highest].learning_rate:.2g} {beyond}, and fell fastest at {finite[steepest].learning_rate:.2g}; a "
        "tenth of the highest leaves headroom",
    )


def centred(losses: Sequence[float]) -> list[float]:
    """Each averaged with its neighbours on both sides: a running mean would take the first value's noise for a fall."""
    levels = []
    for at in range(len(losses)):
        reach = min(AVERAGE_REACH, at, len(losses) - 1 - at) if at >= AVERAGE_REACH else AVERAGE_REACH
        near = losses[max(0, at - reach) : at + reach + 1]
        levels.append(_mean(near))
    return levels


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _loss_noise(losses: Sequence[float], levels: Sequence[float]) -> float:
    """The standard deviation of a batch's loss around its neighbours."""
    return math.sqrt(_mean([(loss - level) ** 2 for loss, level in zip(losses, levels, strict=False)]))


def learning_rate_verdict(learning_rate: float, suggested: float) -> str:
    """What is wrong with a recipe's learning rate, compared with the suggested one; empty when it is near."""
    name = f"the learning rate {learning_rate:g}"
    if learning_rate > TOO_HIGH * suggested:
        times = f"{learning_rate / suggested:.0f} times what the range test suggests ({suggested:g})"
        return f"{name} is {times}: the loss may diverge"
    if learning_rate < suggested / TOO_LOW:
        times = f"{suggested / learning_rate:.0f} times below what the range test suggests ({suggested:g})"
        return f"{name} is {times}: training would take that much longer"
    return ""


def plot(
    measured: Sequence[RangePoint],
    *,
    width: int = 72,
    height: int = 14,
    marks: Mapping[str, float] | None = None,
) -> str:
    """The smoothed loss over the learning rate, for a terminal; clipped at the top where it diverges.

    `marks` are learning rates to point at below the axis.
    """
    finite = [point for point in measured if math.isfinite(point.smooth)]
    if len(finite) < 2:
        return "(too few points to draw)"
    low = min(point.smooth for point in finite)
    high = min(max(point.smooth for point in finite), low + 1.3 * max(finite[0].smooth - low, 1e-9))
    rows = [[" "] * width for _ in range(height)]
    first, last = math.log(finite[0].learning_rate), math.log(finite[-1].learning_rate)
    for point in finite:
        column = round((math.log(point.learning_rate) - first) / (last - first) * (width - 1))
        row = round((high - min(point.smooth, high)) / ((high - low) or 1.0) * (height - 1))
        rows[row][column] = "•"
    labels = [f"{high:8.3g} │", *["         │"] * (height - 2), f"{low:8.3g} │"]
    drawn = [label + "".join(row).rstrip() for label, row in zip(labels, rows, strict=True)]
    left, right = f"{finite[0].learning_rate:.0e}", f"{finite[-1].learning_rate:.0e}"
    axis = "         └" + "─" * width
    scale = f"          {left}{right:>{width - len(left)}}"
    pointers = []
    for name, rate in (marks or {}).items():
        column = round((math.log(rate) - first) / (last - first) * (width - 1)) if rate > 0 else -1
        if 0 <= column < width:
            label = f"▲ {name} {rate:g}"
            before = column if column + len(label) <= width else max(0, column - len(label) + 1)
            text = label if before == column else f"{name} {rate:g} ▲"
            pointers.append(" " * (10 + before) + text)
    return "\n".join([*drawn, axis, scale, *pointers])
