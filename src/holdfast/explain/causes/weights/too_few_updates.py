"""The training ended while the loss was still falling, after very few updates."""

import math

from holdfast.explain.causes.weights import thresholds
from holdfast.explain.readings.course import Course, constant_loss, course, passes_over_data
from holdfast.explain.readings.fits import updates_of
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.weights import fresh
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev, facts


@cause("too-few-updates", specialises=("loss-not-falling",))
def too_few_updates(evidence: Evidence) -> Finding | None:
    training, fit = course(evidence), evidence.fit
    if fit is None:
        return _of_loop(evidence)
    if training is None or fit.done is None or not fit.finished or not fresh(evidence):
        return None
    if not math.isfinite(training.last):  # no update more would have helped
        return None
    updates, falling = updates_of(evidence, fit), _still_falling(evidence)
    steps = updates.number
    if updates.batches == 0 or steps > thresholds.UNFINISHED_UPDATES or falling is None:
        return None
    at_chance = training.at_chance
    per_epoch = steps / max(1, training.epochs)
    # One or two epochs are a trial, of a few batches as of many.
    meant = training.epochs >= thresholds.EPOCHS_MEANT
    begun = at_chance and meant and steps < thresholds.FEW_UPDATES and falling > 0
    sure = begun or _hardly_begun(training, steps) or (meant and steps == 0)
    few = at_chance and steps <= thresholds.HANDFUL_OF_UPDATES  # whichever way the loss went in them
    if not sure and not few and (training.learned is True or falling < thresholds.STILL_FALLING):
        return None
    values = {
        "steps": steps,
        "epochs": training.epochs,
        "batch": fit.start.batch_size,
        "fell": falling,
        "falls": falling > 0,
        "batches": updates.batches if updates.added_up else None,
    }
    more = max(2 * training.epochs, round(thresholds.UNFINISHED_UPDATES / max(1.0, per_epoch)))
    return Finding(
        Strength.SUPPORTED if sure else Strength.POSSIBLE,
        Title("too-few-updates", values),
        facts(fit.done.fact("updates.few", **values), updates.fact, training.fact, training.accuracy_fact),
        [_add_up_fewer(updates.batches) if updates.added_up else Remedy("epochs.more", {"epochs": more})],
        led_to="loss-not-falling",
        ends=False,
    )


def _of_loop(evidence: Evidence) -> Finding | None:
    """Gradients of so many batches are added up that a loop of several passes over its data makes a handful of
    updates, and its loss is where it was."""
    seen, training = evidence.last(ev.UpdatesCounted), course(evidence)
    if seen is None or evidence.exit_code != 0 or not fresh(evidence):
        return None
    event = seen.event
    if event.updates > thresholds.HANDFUL_OF_UPDATES or event.passes < thresholds.UPDATES_MEANT:
        return None
    if event.first is None and training is not None:
        event = event.changed(first=training.first, newest=training.last)
    first, newest, constant = event.first, event.newest, constant_loss(evidence, of_part=True)
    if first is None or newest is None or not math.isfinite(first) or not math.isfinite(newest):
        return None
    if newest < thresholds.NEAR_CONSTANT * first:
        return None
    meant = max(event.data_passes, passes_over_data(evidence)) >= thresholds.EPOCHS_MEANT
    values = {"steps": event.updates, "batches": event.passes, "falls": newest < first}
    counted = {"updates": event.updates, "batches": event.passes, "each": event.each, "where": event.where}
    return Finding(
        Strength.supported_if(meant and _near_constant(event, constant)),
        Title("too-few-updates", values),
        facts(
            seen.fact("updates.added-up", **counted),
            seen.fact("loss.of-batches", first=first, newest=newest, constant=constant),
        ),
        [_add_up_fewer(event.passes)],
        led_to="loss-not-falling",
        ends=False,
    )


def _near_constant(event: ev.UpdatesCounted, constant: float | None) -> bool:
    """The losses of a loop are those of a constant answer, which a fresh network has in its first batches. What is
    differentiated may be the loss over the batches of an update, of which the last one of an epoch has fewer."""
    if not constant or not event.first or not event.newest or event.first < 0 or constant < 0:
        return False
    each, times = event.each or event.passes / max(1, event.updates), constant / event.first
    if times > each / thresholds.FRESH_LOSS > 1:
        return times < each * thresholds.FRESH_LOSS
    return times > 1 / thresholds.FRESH_LOSS and event.newest > thresholds.NEAR_CONSTANT * constant


def _add_up_fewer(batches: int) -> Remedy:
    """So many that the training makes the updates in which a fresh network begins to learn."""
    return Remedy("updates.more", {"each": max(1, batches // thresholds.FEW_UPDATES)})


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
