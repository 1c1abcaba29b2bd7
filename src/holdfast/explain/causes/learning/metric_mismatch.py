"""A metric that means nothing for the task."""

from holdfast.explain.readings.compared import BINARY, DIFFERENCES, Compared, compared
from holdfast.explain.readings.course import least_accuracy
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_ACCURACIES = ("accuracy", "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy")
#: Different values from which targets are a measurement, not classes. Chosen.
_MANY_VALUES = 20
_FEWEST_CLASSES = 3


@cause("metric-mismatch", specialises=())
def metric_mismatch(evidence: Evidence) -> Finding | None:
    seen = compared(evidence)
    if seen is None or seen.labels is None or not set(seen.output.metrics) & set(_ACCURACIES):
        return None
    return _contradicted(evidence, seen) or _accuracy_of_numbers(seen) or _binary_of_many(seen)


def _contradicted(evidence: Evidence, seen: Compared) -> Finding | None:
    """Whatever the model answers, its cross-entropy and its accuracy cannot both be true."""
    contradiction = least_accuracy(evidence)
    if contradiction is None:
        return None
    values = {"metrics": list(seen.output.metrics), "where": seen.output.loss_where, **contradiction.values}
    return Finding(
        Strength.SUPPORTED,
        Title("metric-mismatch.contradicted", values),
        [contradiction, *seen.because],
        [Remedy("metric.as-keras-chooses")],
        ends=False,
    )


def _accuracy_of_numbers(seen: Compared) -> Finding | None:
    """Accuracy counts predictions that are equal to their target: of a measurement none is."""
    labels = seen.labels
    if labels is None or seen.loss not in DIFFERENCES or not seen.is_one_number:
        return None
    if labels.whole_numbers or (labels.distinct or 0) < _MANY_VALUES:
        return None
    return _finding(seen, "metric-mismatch.numbers", Remedy("metric.for-numbers"))


def _binary_of_many(seen: Compared) -> Finding | None:
    """Of rows with one 1, most numbers are 0: right for whoever always says 0."""
    labels = seen.labels
    if (
        labels is None
        or seen.loss not in BINARY
        or not labels.one_hot
        or "binary_accuracy" not in seen.output.metrics
    ):
        return None
    if (seen.output.units or 0) < _FEWEST_CLASSES:
        return None
    return _finding(seen, "metric-mismatch.binary", Remedy("metric.categorical"))


def _finding(seen: Compared, kind: str, remedy: Remedy) -> Finding:
    units = seen.output.units or 1
    values = {"metrics": list(seen.output.metrics), "where": seen.output.loss_where, "loss": seen.output.loss,
              "always": (units - 1) / units}  # fmt: skip
    strength = Strength.SUPPORTED if seen.learned is False else Strength.POSSIBLE
    title = Title(kind, values)
    return Finding(strength, title, seen.because, [remedy], ends=False)
