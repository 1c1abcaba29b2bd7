"""The activation of the last layer cannot reach the targets."""

import math

from holdfast.explain.readings.compared import DIFFERENCES, Compared, compared
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_RANGES = {
    "sigmoid": (0.0, 1.0), "hard_sigmoid": (0.0, 1.0), "softmax": (0.0, 1.0), "tanh": (-1.0, 1.0),
    "softsign": (-1.0, 1.0), "hard_tanh": (-1.0, 1.0), "relu": (0.0, math.inf), "softplus": (0.0, math.inf),
    "exponential": (0.0, math.inf), "relu6": (0.0, 6.0),
}  # fmt: skip
_LOSSES = DIFFERENCES | {"poisson"}
#: Of the span of the targets, that lies beyond the range. Chosen: noise around a limit stays below it.
_BEYOND = 0.2
#: The share from which about half of the targets are out of reach, and the loss, as a share of that of the best
#: constant answer, below which a network has learned well all the same: without those targets it cannot.
_HALF, _GOOD = 0.4, 0.25
#: Standard deviation of the targets in widths of the range, from which hardly any is reached.
_WIDER = 5.0


@cause(
    "output-range-mismatch",
    specialises=("loss-not-falling", "too-few-updates", "loss-not-finite", "metric-mismatch"),
)
def output_range_mismatch(evidence: Evidence) -> Finding | None:
    seen = compared(evidence)
    labels = seen.labels if seen is not None else None
    if seen is None or labels is None or seen.loss not in _LOSSES or labels.distinct == 1:
        return None
    if seen.output.activation not in _RANGES or labels.min is None or labels.max is None:
        return None
    low, high = _RANGES[seen.output.activation]
    span = labels.max - labels.min
    beyond = max(labels.max - high, low - labels.min)
    if span <= 0 or beyond <= _BEYOND * span:
        return None
    spread = labels.std if labels.std is not None and math.isfinite(high) else 0.0
    none_reached = labels.min >= high or labels.max <= low or spread > _WIDER * (high - low)
    values = {"layer": seen.layer, "low": low, "high": high if math.isfinite(high) else None,
              "target_low": labels.min, "target_high": labels.max, "where": seen.output.where}  # fmt: skip
    return Finding(
        Strength.ESTABLISHED if none_reached else _strength(seen, beyond / span),
        Title("output-range-mismatch", values),
        seen.because,
        _remedies(seen),
        ends=False,
    )


def _strength(seen: Compared, beyond: float) -> Strength:
    """Where about half of the targets are out of reach, a loss that has fallen a little is as good as it gets."""
    course = seen.course
    half = course is not None and beyond >= _HALF and course.constant is not None
    stays = half and course is not None and course.last > _GOOD * (course.constant or 0.0)
    return Strength.SUPPORTED if stays else seen.strength


def _remedies(seen: Compared) -> tuple[Remedy, ...]:
    units = seen.output.units
    return Remedy("output.linear-for-numbers", {"units": units}), Remedy("targets.scale-into-range")
