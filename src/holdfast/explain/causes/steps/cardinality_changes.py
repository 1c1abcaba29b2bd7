"""The number of batches differs from epoch to epoch."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import listed


@cause("cardinality-changes", Group.STEPS, specialises=("dataset-exhausted",))
def cardinality_changes(evidence: Evidence) -> Finding | None:
    fit, data = evidence.fit, evidence.data()
    if (
        fit is None
        or data is None
        or (data.event.cardinality is not None and data.event.cardinality >= 0)
        or evidence.stall is not None
    ):
        return None
    if data.event.type in ("generator", "iterator", "array"):
        return None
    steps = fit.steps_by_whole_epoch
    if (fit.done is not None and fit.done.event.stopped) or len(steps) < 3 or min(steps) < 1:
        return None
    if max(steps) < 1.3 * min(steps) or evidence.error is not None:
        return None
    given = fit.started is not None and fit.started.event.steps_per_epoch
    if given and len(set(steps)) <= 2:
        return None
    return Finding(
        "cardinality-changes",
        Strength.SUPPORTED,
        f"the dataset has another length in every epoch: {min(steps)} to {max(steps)} batches",
        (
            Fact(
                f"steps by epoch: {listed([str(count) for count in steps], 12)}",
                fit.done.source if fit.done else fit.epochs[-1].source,
            ),
            Fact(
                "its size is not known beforehand; Keras takes the first epoch's for all later ones and cuts "
                "longer epochs off",
                data.source,
            ),
        ),
        (),
        (
            Remedy(
                "repeat the dataset and say how long an epoch is",
                "your-choice",
                "model.fit(ds.repeat(), steps_per_epoch=n, epochs=…)",
            ),
        ),
        ends=False,
    )
