"""The learning rate fell to next to nothing."""

import math
from typing import Any

from holdfast.explain.causes.control import thresholds
from holdfast.explain.readings.course import course
from holdfast.explain.readings.fits import Fit
from holdfast.explain.readings.numbers import median, number_of
from holdfast.explain.readings.weights import moved
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

_PATIENCE, _SCHEDULE = Remedy("learning-rate.more-patience"), Remedy("learning-rate.schedule-to-the-end")


@cause("learning-rate-collapsed", specialises=("loss-not-falling",))
def learning_rate_collapsed(evidence: Evidence) -> Finding | None:
    fit = evidence.fit
    if fit is None:
        return _in_a_loop(evidence) or _by_steps(evidence)
    # Of the last fit only: another fit may have been given another learning rate on purpose.
    epochs = [epoch for epoch in fit.epochs if epoch.event.learning_rate is not None]
    if len(epochs) < thresholds.FEWEST_EPOCHS:
        return None
    if all(epoch.event.learning_rate == 0.0 for epoch in epochs):
        return _always_zero(fit, epochs)
    return _fell(evidence, fit, epochs)


def _fell(evidence: Evidence, fit: Fit, epochs: list[Recorded[ev.EpochDone]]) -> Finding | None:
    rates = [epoch.event.learning_rate or 0.0 for epoch in epochs]
    floor = thresholds.NEXT_TO_NOTHING * max(rates)
    at = next((number for number, rate in enumerate(rates) if rate <= floor), None)
    if at is None or any(rate > floor for rate in rates[at:]):
        return None
    planned, fell = fit.planned_epochs or len(epochs), epochs[at]
    done = fell.event.epoch - epochs[0].event.epoch + 1
    if planned - done < _allowed(evidence, fit) * planned:
        return None
    losses = [number_of(epoch.event.logs.get("loss")) for epoch in epochs[at:]]
    later = [loss for loss in losses if loss is not None]
    if len(later) > 1 and later[-1] < later[0] - thresholds.STILL_LEARNS * abs(later[0]):
        return None
    reducers = _callbacks(fit, "ReduceLR")
    course = {"highest": max(rates), "fell_to": rates[at], "epoch": fell.event.epoch + 1, "last": rates[-1]}
    return Finding(
        Strength.established_if(reducers and len(later) > 1),
        Title("learning-rate-collapsed", {"last": rates[-1], "epochs_done": done, "epochs": planned}),
        facts(
            fell.fact("learning-rate.fell", **course),
            _set_by(evidence, fit),
            len(later) > 1 and epochs[-1].fact("loss.since", first=later[0], last=later[-1]),
        ),
        [_PATIENCE, _SCHEDULE] if reducers else [_SCHEDULE],
        ends=False,
    )


def _allowed(evidence: Evidence, fit: Fit) -> float:
    """The share of the epochs for which the learning rate may be low at the end."""
    schedule = evidence.seen(ev.ModelSeen).learning_rate_schedule or _callbacks(fit, "LearningRateScheduler")
    if schedule and not _callbacks(fit, "ReduceLR"):
        return thresholds.LOW_AT_THE_END_OF_A_SCHEDULE
    return thresholds.LOW_AT_THE_END


def _always_zero(fit: Fit, epochs: list[Recorded[ev.EpochDone]]) -> Finding:
    setters = _callbacks(fit, "LearningRateScheduler", "ReduceLR")
    unchanged = fit.end.weights_changed is False
    return Finding(
        Strength.established_if(unchanged),
        Title("learning-rate-collapsed.zero", {"epochs": len(epochs)}),
        facts(
            epochs[-1].fact("learning-rate.zero", epochs=len(epochs)),
            fit.started
            and bool(setters)
            and fit.started.fact("learning-rate.set-by-callback", callback=setters[0].get("class")),
            fit.done and unchanged and fit.done.fact("weights.none-changed", steps=fit.end.steps),
        ),
        [_SCHEDULE],
        ends=False,
    )


def _in_a_loop(evidence: Evidence) -> Finding | None:
    """A loop has no plan: the learning rate was next to nothing for half of what was done, and to its end."""
    seen = [one for one in evidence.all(ev.LossSeen) if one.event.learning_rate is not None]
    rates = [one.event.learning_rate or 0.0 for one in seen]
    done, highest = evidence.step or 0, max(rates, default=0.0)
    if highest <= 0.0 or done < thresholds.FEWEST_STEPS:
        return None
    high = [number for number, rate in enumerate(rates) if rate > thresholds.NEXT_TO_NOTHING * highest]
    low = seen[high[-1] + 1 :]
    if not low or done - low[0].event.step < thresholds.LOW_AT_THE_END_OF_A_SCHEDULE * done:
        return None
    since = {"step": low[0].event.step, "learning_rate": low[0].event.learning_rate}
    return Finding(
        Strength.SUPPORTED,
        Title("learning-rate-collapsed.loop", {"last": rates[-1], "steps": done}),
        (
            seen[0].fact("learning-rate.highest", learning_rate=highest),
            low[0].fact("learning-rate.low-since", **since),
        ),
        [_SCHEDULE],
        ends=False,
    )


def _by_steps(evidence: Evidence) -> Finding | None:
    """A rate that lies in a schedule or a closure: the steps themselves became next to nothing.

    So do those of a training that has come to rest. There the loss is a small part of what it was, or all batches
    have one loss; a batch has a gradient of its own where it has a loss of its own.
    """
    courses = _update_sizes(evidence)
    still = [_still_since(sizes) for sizes in courses]
    if not still or not all(still) or not _batches_differ(evidence, max(one for one in still if one)):
        return None
    sizes, since = max(courses, key=lambda one: one[-1][0].event.step), max(one for one in still if one)
    highest, last = max(sizes, key=lambda one: one[1]), sizes[-1]
    low = next(one for one in sizes if one[0].event.step >= since)
    values = {"step": since, "share": low[1] / highest[1], "highest": highest[1], "last": last[1]}
    return Finding(
        Strength.SUPPORTED,
        Title("learning-rate-collapsed.by-steps", {**values, "steps": evidence.step}),
        (
            highest[0].fact("updates.highest", step=highest[0].event.step, size=highest[1]),
            low[0].fact("updates.low-since", **values),
            Fact("loss.differs-by-batch", {}, "journal.jsonl"),
        ),
        [_SCHEDULE],
        ends=False,
    )


_Sizes = list[tuple[Recorded[ev.WeightsMoved], float]]


def _update_sizes(evidence: Evidence) -> list[_Sizes]:
    """Of each set of weights that a loop trains: how far single steps changed them, oldest first."""
    courses: dict[tuple[tuple[str, int], ...], _Sizes] = {}
    for one in moved(evidence, "step"):
        known = tuple((str(it.get("layer")), int(it.get("size") or 0)) for it in one.event.variables)
        size = math.sqrt(sum(float(it["change"]) ** 2 * int(it["size"]) for it in one.event.variables))
        courses.setdefault(known, []).append((one, size))
    return list(courses.values())


def _still_since(sizes: _Sizes) -> int | None:
    """The step from which on they were next to nothing, where that is half of what was seen or more."""
    highest = max(size for _, size in sizes)
    high = [place for place, (_, size) in enumerate(sizes) if size > thresholds.NEXT_TO_NOTHING * highest]
    low = sizes[high[-1] + 1 :] if high else []
    steps = [one.event.step for one, _ in low]
    enough = len(steps) > 1 and steps[-1] >= thresholds.FEWEST_STEPS
    return steps[0] if enough and steps[0] <= thresholds.LOW_AT_THE_END_OF_A_SCHEDULE * steps[-1] else None


def _batches_differ(evidence: Evidence, since: int) -> bool:
    training = course(evidence)
    half = max(since, (evidence.step or 0) // 2)  # what a training does that comes to rest is over by then
    later = [loss for step, loss, _ in evidence.losses if step > half]
    if training is None or len(later) < thresholds.FEWEST_LOSSES or not all(map(math.isfinite, later)):
        return False
    usual = median([abs(loss) for loss in later])
    at_rest = training.last < thresholds.AT_REST * abs(training.first)
    return not at_rest and max(later) - min(later) > thresholds.DIFFER * usual


def _callbacks(fit: Fit, *names: str) -> list[dict[str, Any]]:
    return [one for one in fit.start.callbacks if any(name in str(one.get("class")) for name in names)]


def _set_by(evidence: Evidence, fit: Fit) -> Fact | None:
    started, model = fit.started, evidence.model
    reducers, schedulers = _callbacks(fit, "ReduceLR"), _callbacks(fit, "LearningRateScheduler")
    if started and reducers:
        settings = reducers[0].get("settings", {})
        known = {name: settings.get(name) for name in ("factor", "patience", "min_delta", "min_lr")}
        return started.fact("learning-rate.reduced-by", callback=reducers[0].get("class"), **known)
    if started and schedulers:
        return started.fact("learning-rate.set-by-callback", callback=schedulers[0].get("class"))
    if model and model.event.learning_rate_schedule:
        return model.fact("learning-rate.schedule", schedule=model.event.learning_rate_schedule)
    return None
