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
#: Standard deviation of the targets in widths of the range, from which hardly any is reached.
_WIDER = 5.0


@cause("output-range-mismatch", specialises=("loss-not-falling", "loss-not-finite", "metric-mismatch"))
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
        Strength.ESTABLISHED if none_reached else seen.strength,
        Title("output-range-mismatch", values),
        seen.because,
        _remedies(seen),
        ends=False,
    )


def _remedies(seen: Compared) -> tuple[Remedy, ...]:
    units = seen.output.units
    return Remedy("output.linear-for-numbers", {"units": units}), Remedy("targets.scale-into-range")
