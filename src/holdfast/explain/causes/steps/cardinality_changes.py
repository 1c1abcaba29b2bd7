"""The number of batches differs from epoch to epoch."""

from holdfast.explain.readings.pipeline import from_generator
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

#: Epochs that show a variation, and not one short epoch.
_LEAST_EPOCHS = 3
#: Longest epoch over the shortest. Chosen: a last batch that comes or not, or a few filtered records, stay below.
_VARIES = 1.3


@cause("cardinality-changes", specialises=("dataset-exhausted",))
def cardinality_changes(evidence: Evidence) -> Finding | None:
    fit, data = evidence.fit, evidence.data()
    if fit is None or data is None or evidence.stall is not None or evidence.error is not None:
        return None
    known = data.event.cardinality is not None and data.event.cardinality >= 0
    if known or from_generator(data.event) or data.event.type == "array":
        return None
    steps = fit.steps_by_whole_epoch
    if fit.end.stopped or len(steps) < _LEAST_EPOCHS or min(steps) < 1:
        return None
    if max(steps) < _VARIES * min(steps) or (fit.start.steps_per_epoch and len(set(steps)) <= 2):
        return None
    return Finding(
        Strength.SUPPORTED,
        Title("cardinality-changes", {"least": min(steps), "most": max(steps)}),
        because=[fit.by_epoch(), data.fact("dataset.length-of-first-epoch")],
        remedies=[Remedy("dataset.repeat")],
        ends=False,
    )
