"""A Python generator ended; every later epoch trains the same two batches again."""

from holdfast.explain.readings.pipeline import from_generator
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

#: Batches that Keras 3 draws before it trains, and puts back in front of every epoch.
_PEEKED = 2
#: Validations that show it: the first, and more than one short one after it.
_LEAST_VALIDATIONS = 3
_REMEDIES = (Remedy("generator.make-endless"), Remedy("generator.make-a-class"))


@cause("generator-exhausted", specialises=("dataset-exhausted",))
def generator_exhausted(evidence: Evidence) -> Finding | None:
    return _of_training(evidence) or _of_validation(evidence) or _of_loop(evidence)


def _of_loop(evidence: Evidence) -> Finding | None:
    """A loop of the user's own that goes through a generator again, which gives nothing any more."""
    seen = evidence.last(ev.DataRanOut)
    if seen is None or not seen.event.one_shot or evidence.error is not None:
        return None
    event = seen.event
    if event.step < (evidence.step or 0):
        return None
    values = {"steps": event.step, "planned": event.planned, "bound": event.bound, "where": event.where,
              "iterator": event.iterator}  # fmt: skip
    return Finding(
        Strength.SUPPORTED,
        Title("generator-exhausted.rounds", values),
        [seen.fact("iterator.ended-in-rounds", **values)],
        [Remedy("iterator.make-one-an-epoch"), Remedy("generator.make-a-class")],
        ends=evidence.exit_code == 0,
    )


def _of_training(evidence: Evidence) -> Finding | None:
    data, fit = _generator(evidence, "train"), evidence.fit
    steps = fit.steps_by_whole_epoch if fit is not None else []
    if data is None or fit is None or len(steps) < 2 or evidence.stall is not None:
        return None
    if steps[0] <= _PEEKED or steps[-1] > _PEEKED:
        return None
    short = [count for count in steps[1:] if count <= _PEEKED]
    return Finding(
        Strength.established_if(steps[-1] == _PEEKED),
        Title("generator-exhausted", {"epochs": len(short)}),
        because=[fit.by_epoch(), _not_restartable(data)],
        remedies=_REMEDIES,
    )


def _of_validation(evidence: Evidence) -> Finding | None:
    """The same for the validation data: later validations measure two batches, and look as good as any."""
    data, fit = _generator(evidence, "validation"), evidence.fit
    if data is None or fit is None or fit.mixed:
        return None
    done = [one for one in evidence.all(ev.ValidationDone) if one.event.fit == fit.number]
    batches = [one.event.batches for one in done]
    if len(batches) < _LEAST_VALIDATIONS or batches[0] <= _PEEKED or max(batches[1:]) > _PEEKED:
        return None
    return Finding(
        Strength.established_if(min(batches[1:]) == _PEEKED),
        Title("generator-exhausted.validation", {"validations": len(batches) - 1}),
        (done[-1].fact("validation.batches", batches=batches), _not_restartable(data)),
        _REMEDIES,
        ends=False,
    )


def _generator(evidence: Evidence, role: str) -> Recorded[ev.DatasetSeen] | None:
    data = evidence.data(role)
    return data if data is not None and from_generator(data.event) else None


def _not_restartable(data: Recorded[ev.DatasetSeen]) -> Fact:
    return data.fact("generator.not-restartable", where=data.event.where)
