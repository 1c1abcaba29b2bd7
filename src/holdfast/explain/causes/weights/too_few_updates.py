"""The training ended while the loss was still falling, after very few updates."""

import math

from holdfast.explain.causes.weights import thresholds
from holdfast.explain.doubted_setting import by_setting
from holdfast.explain.readings.course import Course, course
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.weights import fresh
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, facts


@cause("too-few-updates", specialises=("loss-not-falling",))
def too_few_updates(evidence: Evidence) -> Finding | None:
    return by_setting(evidence, "too-few-updates.setting", "too-few-updates") or _by_course(evidence)


def _by_course(evidence: Evidence) -> Finding | None:
    training, fit = course(evidence), evidence.fit
    if training is None or fit is None or fit.done is None or not fit.finished or not fresh(evidence):
        return None
    if not math.isfinite(training.last):  # no update more would have helped
        return None
    steps, falling = fit.end.steps, _still_falling(evidence)
    if steps == 0 or steps > thresholds.UNFINISHED_UPDATES or falling is None:
        return None
    at_chance = training.at_chance
    per_epoch = steps / max(1, training.epochs)
    # One or two epochs are a trial, of a few batches as of many.
    meant = training.epochs >= thresholds.EPOCHS_MEANT
    begun = at_chance and meant and steps < thresholds.FEW_UPDATES and falling > 0
    sure = begun or _hardly_begun(training, steps)
    few = at_chance and steps <= thresholds.HANDFUL_OF_UPDATES  # whichever way the loss went in them
    if not sure and not few and (training.learned is True or falling < thresholds.STILL_FALLING):
        return None
    values = {
        "steps": steps,
        "epochs": training.epochs,
        "batch": fit.start.batch_size,
        "fell": falling,
        "falls": falling > 0,
    }
    more = max(2 * training.epochs, round(thresholds.UNFINISHED_UPDATES / max(1.0, per_epoch)))
    return Finding(
        Strength.SUPPORTED if sure else Strength.POSSIBLE,
        Title("too-few-updates", values),
        facts(fit.done.fact("updates.few", **values), training.fact, training.accuracy_fact),
        [Remedy("epochs.more", {"epochs": more})],
        led_to="loss-not-falling",
        ends=False,
    )


def _hardly_begun(training: Course, steps: int) -> bool:
    """A handful of updates in epochs that were meant, with a loss near that of a constant answer and falling."""
    if (
        steps > thresholds.HANDFUL_OF_UPDATES
        or training.epochs < thresholds.EPOCHS_MEANT
        or not training.constant
    ):
        return False
    return training.fell > 0 and training.last > thresholds.NEAR_CONSTANT * training.constant


def _still_falling(evidence: Evidence) -> float | None:
    """By which share the loss fell from the middle of the fit to its end; None where that is not known."""
    fit = evidence.fit
    losses = [number_of(one.event.logs.get("loss")) for one in (fit.epochs if fit is not None else ())]
    known = [loss for loss in losses if loss is not None]
    if len(known) < 2:
        steps = [loss for _, loss, _ in evidence.losses]
        known = known if len(steps) < 2 else steps
    if len(known) < 2:
        return None
    middle = known[(len(known) - 1) // 2]
    return (middle - known[-1]) / max(abs(middle), 1e-12)
