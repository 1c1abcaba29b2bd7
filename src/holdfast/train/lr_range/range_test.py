"""A range test (Smith 2017): the rate rises from step to step, and the loss shows what the network bears. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LOWEST, HIGHEST = 1e-6, 1.0
SMOOTHING = 0.9
#: Times the suggestion, beyond which a recipe's rate is worth a word: twice the highest that was borne, and a tenth.
TOO_HIGH, TOO_LOW = 20.0, 10.0
AVERAGE_REACH, MIN_STEPS = (
    5,
    10,
)  # steps on either side that a loss is averaged with; steps without which nothing is said
SIGNIFICANT_FALL, SAME_LEVEL = (
    4.0,
    2.0,
)  # times the noise of such an average: a fall that is one, and levels that are the same
DIVERGED_FACTOR = 4.0  # times the lowest loss: beyond this the network has lost its way, and the test ends


@dataclass(frozen=True, slots=True)
class RangePoint:
    rate: float
    loss: float
    smooth: float


@dataclass(frozen=True, slots=True)
class Suggestion:
    rate: float | None  # None: the test does not tell
    why: str


def learning_rate_at(step: int, steps: int) -> float:
    """Evenly spaced on a logarithmic scale."""
    return float(LOWEST * (HIGHEST / LOWEST) ** (step / max(1, steps - 1)))


def smoothed(losses: Sequence[float]) -> list[float]:
    """A running mean, corrected for its start, so that the first points are not pulled towards zero."""
    mean, found = 0.0, []
    for number, loss in enumerate(losses, start=1):
        mean = SMOOTHING * mean + (1 - SMOOTHING) * loss
        found.append(mean / (1 - SMOOTHING**number))
    return found


def points(rates: Sequence[float], losses: Sequence[float]) -> list[RangePoint]:
    return [RangePoint(*values) for values in zip(rates, losses, smoothed(losses), strict=True)]


def has_diverged(losses: Sequence[float]) -> bool:
    """Whether the loss is beyond saving: not finite, or far above its lowest."""
    if not losses:
        return False
    smooth = smoothed(losses)
    return not math.isfinite(losses[-1]) or smooth[-1] > DIVERGED_FACTOR * min(smooth)


def suggest(seen: Sequence[RangePoint], *, batch: int) -> Suggestion:
    """A tenth of the highest rate at which the loss was still as low as it got, if it fell by more than it wavers."""
    finite = [point for point in seen if math.isfinite(point.loss)]
    if len(finite) < MIN_STEPS:
        return Suggestion(None, f"only {len(finite)} steps were finite; the loss breaks at every rate tried")
    levels = centred([point.loss for point in finite])
    lowest = min(range(len(levels)), key=lambda at: levels[at])
    fell = _mean(levels[:MIN_STEPS]) - levels[lowest]
    if lowest < AVERAGE_REACH or fell <= 0:
        return Suggestion(None, "the loss rose from the first step on; no rate tried lowers it")
    wavers = _loss_noise([point.loss for point in finite[: lowest + 1]], levels)
    noise = wavers / math.sqrt(2 * AVERAGE_REACH + 1)
    if fell < SIGNIFICANT_FALL * noise:
        said = f"the loss fell by {fell:.2g}, and wavers by {wavers:.2g} from batch to batch"
        return Suggestion(None, f"{said}: this shows nothing; try more steps or larger batches")
    steepest = min(range(AVERAGE_REACH, lowest + 1), key=lambda at: levels[at] - levels[at - AVERAGE_REACH])
    # Lowest is where noise puts it, on a level stretch: what is borne is told by where the loss rises for good.
    highest = lowest
    while highest + 1 < len(levels) and levels[highest + 1] <= levels[lowest] + SAME_LEVEL * noise:
        highest += 1
    beyond = "up to the highest rate tried" if highest == len(finite) - 1 else "and rose beyond it"
    return Suggestion(
        float(f"{finite[highest].rate / 10:.1g}"),
        f"with batches of {batch} the loss was as low as it got at rates from {finite[lowest].rate:.2g} to "
        f"{finite[highest].rate:.2g} {beyond}, and fell fastest at {finite[steepest].rate:.2g}; a tenth of the highest "
        "leaves room",
    )


def centred(losses: Sequence[float]) -> list[float]:
    """Each with its neighbours on both sides: a mean that begins with one value would take its noise for a fall."""
    found = []
    for at in range(len(losses)):
        reach = min(AVERAGE_REACH, at, len(losses) - 1 - at) if at >= AVERAGE_REACH else AVERAGE_REACH
        near = losses[max(0, at - reach) : at + reach + 1]
        found.append(_mean(near))
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _loss_noise(losses: Sequence[float], levels: Sequence[float]) -> float:
    """How far a batch's loss is from those around it, as a standard deviation."""
    return math.sqrt(_mean([(loss - level) ** 2 for loss, level in zip(losses, levels, strict=False)]))


def rate_verdict(rate: float, suggested: float) -> str:
    """What is wrong with a recipe's rate beside the suggested one; nothing when it is near it."""
    if rate > TOO_HIGH * suggested:
        return (
            f"the learning rate {rate:g} is {rate / suggested:.0f} times what the range test suggests "
            f"({suggested:g}): the loss may break"
        )
    if rate < suggested / TOO_LOW:
        return (
            f"the learning rate {rate:g} is {suggested / rate:.0f} times below what the range test suggests "
            f"({suggested:g}): training would take that much longer"
        )
    return ""


def plot(
    seen: Sequence[RangePoint], *, width: int = 72, height: int = 14, marks: Mapping[str, float] | None = None
) -> str:
    """The smoothed loss against the rate, for a terminal; where it breaks, it runs along the upper edge.

    `marks` are rates to point at below the axis.
    """
    finite = [point for point in seen if math.isfinite(point.smooth)]
    if len(finite) < 2:
        return "(too few points to draw)"
    low = min(point.smooth for point in finite)
    high = min(max(point.smooth for point in finite), low + 1.3 * max(finite[0].smooth - low, 1e-9))
    rows = [[" "] * width for _ in range(height)]
    first, last = math.log(finite[0].rate), math.log(finite[-1].rate)
    for point in finite:
        column = round((math.log(point.rate) - first) / (last - first) * (width - 1))
        row = round((high - min(point.smooth, high)) / ((high - low) or 1.0) * (height - 1))
        rows[row][column] = "•"
    labels = [f"{high:8.3g} │", *["         │"] * (height - 2), f"{low:8.3g} │"]
    drawn = [label + "".join(row).rstrip() for label, row in zip(labels, rows, strict=True)]
    left, right = f"{finite[0].rate:.0e}", f"{finite[-1].rate:.0e}"
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
