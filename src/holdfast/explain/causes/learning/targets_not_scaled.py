"""Regression targets far beyond the scale that a network starts from."""

from holdfast.explain.readings.compared import DIFFERENCES, Compared, compared, targets_fact
from holdfast.explain.readings.course import course, targets
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev, facts

#: A fresh network answers numbers around 0 to 1, and a step of Adam moves a bias by 0.001: a hundred is a long way.
_FAR = 100.0
#: Of the mean square of the targets, which is the squared error of an answer of 0, or of their mean, which is its
#: absolute error: a loss that begins this close is one of those, and one that ends above the last has come nowhere.
_LEAST, _MOST, _STILL = 0.8, 1.25, 0.5


@cause(
    "targets-not-scaled",
    specialises=("loss-not-falling", "too-few-updates", "loss-not-finite", "metric-mismatch"),
)
def targets_not_scaled(evidence: Evidence) -> Finding | None:
    seen, given = compared(evidence), targets(evidence)
    labels = given.event if given is not None else None
    if given is None or labels is None or labels.mean is None or labels.std is None or labels.distinct == 1:
        return None
    if max(abs(labels.mean), labels.std) < _FAR or not _has_come_nowhere(evidence, seen, labels):
        return None
    values = {"low": labels.min, "high": labels.max, "mean": labels.mean, "std": labels.std}
    training = course(evidence)
    return Finding(
        seen.strength if seen is not None else Strength.SUPPORTED,
        Title("targets-not-scaled", values),
        seen.because if seen is not None else facts(targets_fact(given), training and training.fact),
        (Remedy("targets.standardise"), Remedy("model.rescale-last", safety="guess")),
        ends=False,
    )


def _has_come_nowhere(evidence: Evidence, seen: Compared | None, labels: ev.ValuesSeen) -> bool:
    """By what the loss compares; where that cannot be read, by a loss that is the error of an answer of 0."""
    if seen is not None:
        fits = seen.loss in DIFFERENCES and seen.output.activation in ("linear", "relu", "")
        return fits and seen.learned is False
    training, mean, std = course(evidence), labels.mean or 0.0, labels.std or 0.0
    if training is None or labels.shape not in ([], [1]):
        return False
    errors = (mean**2 + std**2, abs(mean))
    return any(_LEAST * of < training.first < _MOST * of and training.last > _STILL * of for of in errors)
