"""Validation does not end: the validation data is infinite, or counted in samples."""

from holdfast.explain.pass_without_steps import PassWithoutSteps, pass_without_steps
from holdfast.explain.readings.end import ended_by_hand
from holdfast.explain.readings.pipeline import INFINITE, UNKNOWN_LENGTH, from_generator
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause, ev, facts

#: Validation batches below which it has hardly begun.
_LEAST_BATCHES = 3
#: Times as many validation batches as training steps an epoch: validation data is seldom larger than training data.
_FAR_LONGER = 10
#: Samples at the end that must show the same batch for a validation that is stalled, and not long.
_LAST_SAMPLES, _LEAST_SAMPLES = 6, 4


@cause("validation-never-ends")
def validation_never_ends(evidence: Evidence) -> Finding | None:
    started, done = evidence.last(ev.ValidationStarted), evidence.last(ev.ValidationDone)
    if started and done and done.line > started.line:
        started = None  # it has ended
    batches, own = _batches(evidence), pass_without_steps(evidence)
    if own is not None and ended_by_hand(evidence) and not evidence.oom_ended:
        return _own_loop(own)
    if started is None and evidence.phase != Phase.VALIDATION:
        return None
    if batches < _LEAST_BATCHES or evidence.exit_code == 0 or evidence.oom_ended or _is_stalled(evidence):
        return None
    training, data, infinite = _training_steps(evidence), evidence.data("validation"), _infinite(evidence)
    planned = started.event.planned_batches if started is not None else None
    seen = [one for one in evidence.all(ev.EndlessSeen) if one.event.what == "validation"][-1:]
    sure = infinite or any(one.event.sure for one in seen)
    # An `evaluate` of its own, next to or without a fit, may have all the data that there is.
    inside = training > 0 and started is not None and started.event.fit is not None
    unknown = data is None or from_generator(data.event) or data.event.cardinality in (UNKNOWN_LENGTH, None)
    longer = batches > _FAR_LONGER * training and inside
    beyond = longer and _planned_beyond_training(evidence, planned or 0)
    if not (sure or beyond or (longer and unknown and not planned)):
        return None
    return Finding(
        Strength.established_if(sure),
        Title("validation-never-ends.planned", {"batches": batches, "planned": planned})
        if beyond and not sure
        else Title("validation-never-ends", {"batches": batches, "infinite": sure}),
        facts(
            Fact("validation.unfinished", {"batches": batches, "training_steps": training}, "beats"),
            data and infinite and data.fact("dataset.infinite", where=data.event.where),
            started and (planned or 0) > 0 and started.fact("validation.planned", batches=planned),
            beyond and _whole_training(evidence),
            [Fact("validation.endless", _course(one.event), one.source) for one in seen],
        ),
        [Remedy("fit.count-validation-in-batches" if beyond else "fit.give-validation-steps")],
    )


def _own_loop(own: PassWithoutSteps) -> Finding:
    """In a loop of the user's own, which has no number of validation steps."""
    strength = Strength.SUPPORTED if own.likely else Strength.POSSIBLE
    return Finding(
        Strength.ESTABLISHED if own.loop is not None else strength,
        Title("validation-never-ends.loop", {"where": own.where}),
        facts(
            Fact(
                "validation.unfinished",
                {"batches": own.batches, "training_steps": own.training_steps},
                own.source,
            ),
            Fact("steps.none-in-pass", {"seconds": own.for_s}, own.source),
            own.data.fact("dataset.infinite", where=own.data.event.where),
            own.loop is not None and own.loop.fact("loop.nothing-leaves", where=own.where),
        ),
        [Remedy("loop.take-batches"), Remedy("dataset.without-repeat")],
    )


def _course(seen: ev.EndlessSeen) -> dict[str, object]:
    return {"batches": seen.batches, "seconds": seen.for_s, "why": seen.why}


def _batches(evidence: Evidence) -> int:
    if evidence.beats:
        return evidence.beats[-1].test_batches
    return evidence.samples[-1][1].test_batches if evidence.samples else 0


def _training_steps(evidence: Evidence) -> int:
    """The longest epoch of training, as far as one is known."""
    by_epoch = evidence.fit.steps_by_epoch if evidence.fit is not None else []
    return max([*by_epoch, *(sample.train_batches for _, sample in evidence.samples)], default=0)


def _planned_beyond_training(evidence: Evidence, planned: int) -> bool:
    """More batches than the whole training has, of data that repeats: only the plan ends it, which counts samples."""
    fit, data = evidence.fit, evidence.data("validation")
    whole = fit.planned_steps if fit is not None else None
    repeats = data is not None and (
        data.event.cardinality == INFINITE or any(node.get("endless") for node in data.event.nodes)
    )
    return repeats and planned > max(whole or planned, _FAR_LONGER * _training_steps(evidence))


def _whole_training(evidence: Evidence) -> Fact | None:
    started = evidence.fit.started if evidence.fit is not None else None
    return (
        started.fact("training.planned-steps", steps=evidence.fit.planned_steps)
        if started is not None and evidence.fit is not None
        else None
    )


def _infinite(evidence: Evidence) -> bool:
    steps = evidence.fit.start.validation_steps if evidence.fit is not None else None
    return evidence.dataset("validation").cardinality == INFINITE and not steps


def _is_stalled(evidence: Evidence) -> bool:
    last = evidence.samples[-_LAST_SAMPLES:]
    counts = [sample.test_batches for _, sample in last if sample.phase == "validation"]
    return evidence.stall is not None and len(counts) >= _LEAST_SAMPLES and counts[-1] == counts[0]
