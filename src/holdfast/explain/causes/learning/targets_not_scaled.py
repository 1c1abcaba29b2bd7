"""Regression targets far beyond the scale that a network starts from."""

from holdfast.explain.readings.compared import DIFFERENCES, compared
from holdfast.explain.rule import Evidence, Finding, Remedy, Title, cause

#: A fresh network answers numbers around 0 to 1, and a step of Adam moves a bias by 0.001: a hundred is a long way.
_FAR = 100.0


@cause(
    "targets-not-scaled",
    specialises=("loss-not-falling", "too-few-updates", "loss-not-finite", "metric-mismatch"),
)
def targets_not_scaled(evidence: Evidence) -> Finding | None:
    seen = compared(evidence)
    labels = seen.labels if seen is not None else None
    if seen is None or labels is None or seen.loss not in DIFFERENCES:
        return None
    if seen.output.activation not in ("linear", "relu", "") or labels.mean is None or labels.std is None:
        return None
    if max(abs(labels.mean), labels.std) < _FAR or seen.learned is not False or labels.distinct == 1:
        return None
    values = {"low": labels.min, "high": labels.max, "mean": labels.mean, "std": labels.std}
    return Finding(
        seen.strength,
        Title("targets-not-scaled", values),
        seen.because,
        (Remedy("targets.standardise"), Remedy("model.rescale-last", safety="guess")),
        ends=False,
    )
