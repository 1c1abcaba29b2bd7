"""A Python generator ended; every later epoch trains the same two batches again, or nothing."""

from holdfast.explain.readings.pipeline import from_generator
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

#: Batches that Keras 3 draws before it trains, and puts back in front of every epoch.
_PEEKED = 2
#: Passes without a batch, one after the other, that are no check whether there is more. Chosen.
_EMPTY_PASSES = 2
#: Validations that show it: the first, and more than one short one after it.
_LEAST_VALIDATIONS = 3
_REMEDIES = (Remedy("generator.make-endless"), Remedy("generator.make-a-class"))


@cause("generator-exhausted", specialises=("dataset-exhausted",))
def generator_exhausted(evidence: Evidence) -> Finding | None:
    return (
        _of_training(evidence) or _of_validation(evidence) or _of_loop(evidence) or _of_later_passes(evidence)
    )


def _of_loop(evidence: Evidence) -> Finding | None:
    """A loop of the user's own that goes through a generator again, which gives nothing any more."""
    seen = evidence.last(ev.DataRanOut)
    if seen is None or not seen.event.one_shot or evidence.exit_code != 0:
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


def _of_later_passes(evidence: Evidence) -> Finding | None:
    """A dataset of a framework's in a loop of the user's own, with something behind it that is used up."""
    seen = [one for one in evidence.all(ev.LaterPassEmpty) if one.event.trained]
    if not seen or seen[-1].event.passes < _EMPTY_PASSES or evidence.error is not None:
        return None
    event = seen[-1].event
    if event.step < (evidence.step or 0):
        return None
    values = {"steps": event.step, "passes": event.passes, "where": event.where}
    return Finding(
        Strength.supported_if(event.trained == 1),  # a stream may well end after several
        Title("generator-exhausted.later-passes", values),
        facts(seen[-1].fact("loop.later-passes-empty", **values), _behind(evidence)),
        [Remedy("generator.make-one-a-pass"), Remedy("generator.make-a-class")],
        ends=evidence.exit_code == 0,
    )


def _behind(evidence: Evidence) -> list[Fact]:
    """Where a pipeline that is trained on begins in Python code."""
    data = [one for one in evidence.all(ev.DatasetSeen) if one.event.role == "train"]
    nodes = [(one, node) for one in data[-1:] for node in one.event.nodes if node.get("op") == "generator"]
    return [one.fact("generator.behind-dataset", where=node.get("where") or "") for one, node in nodes[:1]]


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
