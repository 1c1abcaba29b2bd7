"""A Python generator ended; every later epoch trains the same two batches again."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import counted, listed
from holdfast.journal import events as ev


@cause("generator-exhausted", Group.STEPS, specialises=("dataset-exhausted",))
def generator_exhausted(evidence: Evidence) -> Finding | None:
    return _of_training(evidence) or _of_validation(evidence)


def _of_validation(evidence: Evidence) -> Finding | None:
    """The same for the data of the validation: later ones are measured on two batches, and look as good as any."""
    data, fit = evidence.data("validation"), evidence.fit
    if data is None or fit is None or data.event.type not in ("generator", "iterator") or fit.mixed:
        return None
    said = [one for one in evidence.all(ev.ValidationDone) if one.event.fit == fit.number]
    batches = [one.event.batches for one in said]
    if len(batches) < 3 or batches[0] <= _PEEKED or any(count > _PEEKED for count in batches[1:]):
        return None
    where = f" ({data.event.where})" if data.event.where else ""
    return Finding(
        "generator-exhausted",
        Strength.ESTABLISHED if all(count == _PEEKED for count in batches[1:]) else Strength.SUPPORTED,
        f"the generator of the validation ended: {counted(len(batches) - 1, 'later validation')} measured only the "
        "first two batches again",
        (
            Fact(f"batches by validation: {listed([str(count) for count in batches], 12)}", said[-1].source),
            Fact(
                f"its data comes from a Python generator, which cannot be started again{where}", data.source
            ),
        ),
        (),
        _REMEDIES,
        ends=False,
    )


def _of_training(evidence: Evidence) -> Finding | None:
    data, fit = evidence.data(), evidence.fit
    if data is None or fit is None or data.event.type not in ("generator", "iterator"):
        return None
    steps = fit.steps_by_whole_epoch
    if len(steps) < 2 or steps[0] <= 2 or steps[-1] > 2 or evidence.stall is not None:
        return None
    tail = [count for count in steps[1:] if count <= 2]
    where = f" ({data.event.where})" if data.event.where else ""
    facts = (
        Fact(
            f"steps by epoch: {listed([str(count) for count in steps], 12)}",
            fit.done.source if fit.done else fit.epochs[-1].source,
        ),
        Fact(f"the data comes from a Python generator, which cannot be started again{where}", data.source),
        Fact(
            "Keras looked at the first two batches before training, and feeds those again", "holdfast causes"
        ),
    )
    return Finding(
        "generator-exhausted",
        Strength.ESTABLISHED if len(tail) > 0 and steps[-1] == 2 else Strength.SUPPORTED,
        f"the generator ended: {counted(len(tail), 'later epoch')} trained only the first two batches again",
        facts,
        (),
        _REMEDIES,
    )


_PEEKED = 2  # batches that Keras draws before it trains
_REMEDIES = (
    Remedy(
        "a generator that never ends, with steps_per_epoch",
        "your-choice",
        "def batches():\n    while True:\n        yield from one_epoch()\nmodel.fit(batches(), "
        "steps_per_epoch=n, epochs=…)",
    ),
    Remedy(
        "a keras.utils.PyDataset or tf.data.Dataset, which start anew in every epoch",
        "your-choice",
    ),
)
