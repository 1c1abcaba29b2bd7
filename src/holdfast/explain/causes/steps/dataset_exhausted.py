"""The data ran out before the planned steps; Keras continues with short epochs."""

from holdfast.explain.readings.error import error_quoted, user_line
from holdfast.explain.readings.fits import Fit, steps_short
from holdfast.explain.readings.pipeline import from_generator
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.readings.warnings_seen import warned_of
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, cause, ev, facts

_RAN_OUT = "ran out of data"
_REMEDIES = (Remedy("dataset.repeat"), Remedy("fit.without-steps-per-epoch"))


@cause("dataset-exhausted", specialises=("script-error",))
def dataset_exhausted(evidence: Evidence) -> Finding | RuledOut | None:
    short, warning = steps_short(evidence), warned_of(evidence, _RAN_OUT)
    warned = Fact("keras.warned-of-data-end", {}, warning.source) if warning is not None else None
    if short is None:
        return (
            _raised_its_end(evidence)
            or _asked_again(evidence)
            or _loop_ran_out(evidence)
            or _only_warned(evidence, warned)
            or _not_short(evidence)
        )
    data, started = _data_of(evidence, short.fit), short.fit.started
    dataset = data.event if data is not None else ev.DatasetSeen()
    batches = dataset.cardinality or 0
    asked_for = {"steps": short.fit.start.steps_per_epoch, "where": short.fit.start.where}
    return Finding(
        Strength.established_if((warned is not None or batches > 0) and not from_generator(dataset)),
        Title("dataset-exhausted", {"steps": sum(short.steps), "planned": short.planned * len(short.steps)}),
        facts(
            short.fact,
            warned,
            data and batches > 0 and data.fact("dataset.length", batches=batches),
            started and bool(asked_for["steps"]) and started.fact("fit.steps-per-epoch", **asked_for),
        ),
        _REMEDIES,
        ends=evidence.exit_code == 0,
    )


def _only_warned(evidence: Evidence, warned: Fact | None) -> Finding | None:
    """A log has Keras's own warning, and may not have the planned steps. Keras 3 warns of a healthy dataset too,
    where it did not know its size."""
    if warned is None or not evidence.log:
        return None
    return Finding(Strength.POSSIBLE, Title("dataset-exhausted.warned"), [warned], _REMEDIES, ends=False)


def _raised_its_end(evidence: Evidence) -> Finding | None:
    """A loop of the user's own that takes the next batch of an iterator which has none, and nobody catches that."""
    error = evidence.error
    if error is None or error.caught or not evidence.step:
        return None
    ended = error.type == "StopIteration" or (
        error.type == "OutOfRangeError" and "End of sequence" in error.message
    )
    if not ended and not (error.type == "RuntimeError" and "generator raised StopIteration" in error.message):
        return None
    return Finding(
        Strength.SUPPORTED,
        Title("dataset-exhausted.raised", {"steps": evidence.step, "where": error.user_line}),
        [error_quoted(error), *user_line(evidence)],
        [Remedy("iterator.make-one-an-epoch"), Remedy("iterator.repeat")],
    )


def _asked_again(evidence: Evidence) -> Finding | None:
    """A loop of the user's own that asks an iterator again which has ended: its later rounds train nothing."""
    used = evidence.last(ev.ExhaustedIteratorUsed)
    if used is None:
        return None
    values = {"where": used.event.where, "times": used.event.times, "steps": evidence.step or 0}
    return Finding(
        Strength.SUPPORTED,
        Title("dataset-exhausted.iterator", values),
        because=[used.fact("iterator.asked-after-its-end", **values)],
        remedies=[Remedy("iterator.make-one-an-epoch"), Remedy("iterator.repeat")],
        ends=False,
    )


def _loop_ran_out(evidence: Evidence) -> Finding | None:
    """A loop of the user's own whose iterator ended before its last round, and no step was done after that."""
    seen = evidence.last(ev.DataRanOut)
    if seen is None or evidence.error is not None or seen.event.step < (evidence.step or 0):
        return None
    event = seen.event
    if event.one_shot:  # another cause
        return None
    values = {"steps": event.step, "planned": event.planned, "bound": event.bound, "where": event.where}
    data = evidence.data()
    batches = (data.event.cardinality or 0) if data is not None else 0
    return Finding(
        Strength.SUPPORTED,
        Title("dataset-exhausted.loop", values),
        facts(
            seen.fact("iterator.ended-in-loop", **values),
            data and batches > 0 and data.fact("dataset.length", batches=batches),
        ),
        [Remedy("iterator.make-one-an-epoch"), Remedy("iterator.repeat")],
        ends=evidence.exit_code == 0,
    )


def _data_of(evidence: Evidence, fit: Fit) -> Recorded[ev.DatasetSeen] | None:
    """What fed this fit. A later fit has a dataset of its own."""
    seen = [one for one in evidence.all(ev.DatasetSeen) if one.event.role == "train"]
    return next((one for one in reversed(seen) if fit.done is None or one.line < fit.done.line), None)


def _not_short(evidence: Evidence) -> RuledOut | None:
    """Every fit has done the steps that were planned."""
    planned = [fit for fit in evidence.fits if fit.planned_steps]
    if not planned or any(fit.done is None or fit.end.steps < (fit.planned_steps or 0) for fit in planned):
        return None
    values = {"planned": sum(fit.planned_steps or 0 for fit in planned)}
    last = planned[-1].done
    return RuledOut("dataset-exhausted.all-done", values, last.source if last is not None else "")
