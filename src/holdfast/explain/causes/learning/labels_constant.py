"""All labels are the same."""

from holdfast.explain.readings.compared import (
    BINARY,
    CATEGORICAL,
    DIFFERENCES,
    SPARSE,
    Compared,
    compared,
    is_spread,
)
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev

#: Rows below which a data set with one class is an experiment. Chosen.
_FEWEST_ROWS = 16


@cause("labels-constant", specialises=("loss-not-falling", "too-few-updates", "labels-unrelated"))
def labels_constant(evidence: Evidence) -> Finding | None:
    seen = compared(evidence)
    labels = seen.labels if seen is not None else None
    if seen is None or labels is None or not is_spread(labels) or labels.rows < _FEWEST_ROWS:
        return None
    if labels.rows_differ is not False or labels.min is None or seen.targets is None:
        return None
    if seen.loss not in BINARY | CATEGORICAL | SPARSE | DIFFERENCES:
        return None
    name = next(iter(labels.classes), None) if seen.loss not in DIFFERENCES else None
    values = {"value": labels.max if name is None else None, "class_id": name, "rows": labels.rows,
              "where": labels.where}  # fmt: skip
    return Finding(
        Strength.POSSIBLE if _is_meant(evidence, seen) else Strength.SUPPORTED,
        Title("labels-constant", values),
        [seen.targets.fact("labels.all-equal", **values), *seen.because],
        [Remedy("labels.look-at-them")],
        ends=False,
    )


def _is_meant(evidence: Evidence, seen: Compared) -> bool:
    """Two networks against each other get one label in each call; a residual is compared with zeros."""
    models = {one.event.model for one in evidence.all(ev.OutputSeen)}
    targets = [one.event for one in evidence.all(ev.ValuesSeen) if one.event.role == "target"]
    alternates = len({(one.min, one.max) for one in targets}) > 1
    zeros = seen.loss in DIFFERENCES and seen.labels is not None and seen.labels.max == 0
    return zeros or alternates or len(models) > 1 or len(evidence.fits) > 1
