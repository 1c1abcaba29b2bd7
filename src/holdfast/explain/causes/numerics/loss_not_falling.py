"""The loss does not fall."""

import math

from holdfast.explain.causes.numerics import thresholds
from holdfast.explain.readings.course import course
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.weights import moved
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts
from holdfast.explain.validations import found_nothing, same_answers

_TRY = (Remedy("model.overfit-one-batch", {}, "guess"), Remedy("model.look-for-dead-units", {}, "guess"))


@cause("loss-not-falling")
def loss_not_falling(evidence: Evidence) -> Finding | None:
    by_weights = (
        _never_applied(evidence)
        or _without_gradients(evidence)
        or _unchanged(evidence)
        or _returned(evidence)
    )
    if by_weights is not None:
        return by_weights
    # Folds and trials: each has a curve of its own, and the last one counts.
    # A later fit began with an optimizer that had done nothing: another model, or the same one compiled again.
    started_over = any(fit.start.iterations == 0 for fit in evidence.fits[1:])
    epochs = evidence.fits[-1].epochs if started_over else evidence.all(ev.EpochDone)
    logged = [(number_of(epoch.event.logs.get("loss")), epoch) for epoch in epochs]
    with_loss = [(loss, epoch) for loss, epoch in logged if loss is not None]
    if with_loss and _beats_a_constant_answer(evidence):
        return None
    flat = _flat(evidence, with_loss) if with_loss else _kept(evidence) or _same_again(evidence)
    return flat or _at_constant(evidence) or _same_answers(evidence)


def _beats_a_constant_answer(evidence: Evidence) -> bool:
    """It began with weights that answer better than any constant does: it may be as good as it gets."""
    training = course(evidence)
    return training is not None and training.constant is not None and training.learned is True


def _flat(evidence: Evidence, epochs: list[tuple[float, Recorded[ev.EpochDone]]]) -> Finding | None:
    losses, newest = [loss for loss, _ in epochs], epochs[-1][1]
    step = evidence.step or 0
    if len(losses) < thresholds.FEWEST_EPOCHS or step < thresholds.FEWEST_STEPS:
        return None
    if not all(math.isfinite(loss) for loss in losses) or _has_learned(losses, newest):
        return None
    values = {"first": losses[0], "last": losses[-1], "epochs": len(losses)}
    restored = _restored(evidence)
    spread = (max(losses) - min(losses)) / abs(losses[0])
    starts = [fit.start.iterations for fit in evidence.fits if fit.started is not None]
    unsure = len(starts) > 1 and None in starts  # folds, or one model that continues: it was not recorded
    certain = spread < thresholds.FLAT_SPREAD and restored is None and not unsure
    return Finding(
        Strength.SUPPORTED if certain else Strength.POSSIBLE,
        Title("loss-not-falling", values),
        facts(newest.fact("loss.flat", **values, steps=step), _model(evidence)),
        _TRY,
        against=facts(restored, Fact("loss-not-falling.not-found")),
        ends=False,
    )


def _at_constant(evidence: Evidence) -> Finding | None:
    """It has fallen to the loss of a constant answer and stays there. Where the labels of similar rows are alike, there
    was more to learn; else they may be noise."""
    training = course(evidence)
    if training is None or training.learned is not False or _restored(evidence) is not None:
        return None
    if not training.stuck_above(thresholds.AT_CONSTANT):
        return None
    measured = evidence.last(ev.DependenceSeen)
    gained = measured.event.agreement - measured.event.chance if measured is not None else 0.0
    depends = measured is not None and gained > thresholds.LABELS_DEPEND
    values = {"last": training.last, "constant": training.constant, "steps": training.steps}
    return Finding(
        Strength.SUPPORTED if depends else Strength.POSSIBLE,
        Title("loss-not-falling.at-constant", values),
        facts(
            training.fact,
            training.accuracy_fact,
            depends
            and measured
            and measured.fact(
                "labels.of-images-left-out"
                if measured.event.of == "images"
                else "labels.alike-in-similar-rows",
                **ev.payload(measured.event),
            ),
        ),
        _TRY,
        against=[Fact("loss-not-falling.not-found")],
        ends=False,
    )


def _same_answers(evidence: Evidence) -> Finding | None:
    """A run of our own trainer, of which the loss says little: it falls by the sizes of the boxes alone."""
    nothing, same, training = found_nothing(evidence), same_answers(evidence), course(evidence)
    if nothing is None or same is None or training is None or training.steps < thresholds.FEWEST_STEPS:
        return None
    return Finding(
        Strength.POSSIBLE,
        Title("loss-not-falling.same-answers", {"steps": training.steps}),
        [same, nothing, training.fact],
        _TRY,
        against=[Fact("loss-not-falling.not-found")],
        ends=False,
    )


def _has_learned(losses: list[float], newest: Recorded[ev.EpochDone]) -> bool:
    logs = newest.event.logs
    accuracy = [number_of(logs[name]) for name in logs if "acc" in name and not name.startswith("val_")]
    accurate = any(value is not None and value > thresholds.HIGH_ACCURACY for value in accuracy)
    at_the_floor = abs(losses[0]) < thresholds.AT_THE_FLOOR
    return accurate or at_the_floor or min(losses) < thresholds.FELL_TO * losses[0]


def _model(evidence: Evidence) -> Fact | None:
    model = evidence.model
    if model is None:
        return None
    event = model.event
    return model.fact(
        "model.trainable", trainable=event.trainable_parameters, learning_rate=event.learning_rate
    )


def _restored(evidence: Evidence) -> Fact | None:
    """A restored model may be as good as it gets; one whose weights did not change is not excused by that."""
    restored = evidence.last(ev.Restored)
    if restored is None or any(fit.end.weights_changed is False for fit in evidence.fits):
        return None
    return restored.fact("weights.restored", path=restored.event.path)


def _never_applied(evidence: Evidence) -> Finding | None:
    """Recorded when the process ended: gradients were taken, the optimizer took no step, the weights are as before."""
    seen = evidence.first(ev.GradientsNotApplied)
    if seen is None:
        return None
    values = ev.payload(seen.event)
    kinds = ("gradients.taken", "optimizer.took-no-step", "weights.as-at-first-gradient")
    return Finding(
        Strength.SUPPORTED,
        Title("loss-not-falling.never-applied", values),
        [seen.fact(kind, **values) for kind in kinds],
        [Remedy("gradients.apply")],
        ends=False,
    )


def _without_gradients(evidence: Evidence) -> Finding | None:
    """An optimizer that takes steps while none of its parameters has a gradient changes nothing."""
    seen = evidence.first(ev.StepsWithoutGradients)
    if seen is None or not seen.event.reached:  # of other weights it is nothing-trainable
        return None
    values = ev.payload(seen.event)
    return Finding(
        Strength.ESTABLISHED if evidence.exit_code == 0 else Strength.SUPPORTED,
        Title("loss-not-falling.without-gradient", values),
        [
            seen.fact("optimizer.steps-without-gradient", **values),
            seen.fact("optimizer.gradients-cleared-before", **values),
        ],
        [Remedy("gradients.clear-before-backward")],
        ends=False,
    )


def _returned(evidence: Evidence) -> Finding | None:
    """A jitted step computes gradients, and returns the weights that it was given."""
    seen, moves = evidence.first(ev.WeightsLeftAlone), moved(evidence, "start")
    if seen is None or not seen.event.returned or not moves:
        return None
    steps = moves[-1].event.step
    if steps < thresholds.FEWEST_STEPS or any(
        it.get("change") for one in moves for it in one.event.variables
    ):
        return None
    values = {"steps": steps, "where": seen.event.where}
    return Finding(
        Strength.SUPPORTED,
        Title("loss-not-falling.returned-as-given", values),
        (seen.fact("step.returns-weights", **values), moves[-1].fact("weights.none-changed", steps=steps)),
        [Remedy("updates.apply")],
        ends=False,
    )


def _kept(evidence: Evidence) -> Finding | None:
    """Gradients of all steps so far add up. A training that learns all the same is left alone."""
    seen, curve = evidence.first(ev.GradientsKept), course(evidence)
    if seen is None or curve is None or curve.learned is not False:
        return None
    values = ev.payload(seen.event)
    return Finding(
        Strength.SUPPORTED,
        Title("loss-not-falling.gradients-kept", values),
        facts(seen.fact("gradients.never-cleared", **values), curve.fact),
        [Remedy("gradients.clear")],
        ends=False,
    )


def _unchanged(evidence: Evidence) -> Finding | None:
    """A whole fit after which the trainable weights are what they were: a `train_step` of the user's own."""
    fit, model = evidence.fit, evidence.seen(ev.ModelSeen)
    if fit is None or fit.done is None or fit.started is None or fit.mixed:
        return None
    end, before = fit.end, fit.start.iterations
    if end.weights_changed is not False or end.raised or end.steps < thresholds.FEWEST_STEPS_OF_A_FIT:
        return None
    if not model.trainable_parameters or model.learning_rate == 0.0:
        return None
    no_step = before is not None and end.iterations == before
    values = {"steps": end.steps, "no_step": no_step, "iterations": before}
    return Finding(
        Strength.ESTABLISHED if no_step else Strength.POSSIBLE,
        Title("loss-not-falling.no-weight-changed", values),
        facts(
            fit.done.fact("weights.unchanged", **values),
            _model(evidence),
            no_step and fit.done.fact("optimizer.still-counts", **values),
        ),
        [Remedy("gradients.apply-in-train-step")],
        ends=False,
    )


def _same_again(evidence: Evidence) -> Finding | None:
    """A loop without epochs: a batch that returns has, to the last digit, the loss it had."""
    loss, steps, distinct = _most_repeated(evidence)
    late = bool(steps) and steps[-1] >= thresholds.SAME_LOSS_UNTIL * (evidence.step or 0)
    if not late or distinct < thresholds.DISTINCT_LOSSES:
        return None
    values = {"loss": repr(loss), "times": len(steps), "first_step": steps[0], "last_step": steps[-1]}
    return Finding(
        Strength.SUPPORTED,
        Title("loss-not-falling.same-again", values),
        [Fact("loss.same-again", values, "journal.jsonl")],
        _TRY,
        against=[Fact("weights.not-compared")],
        ends=False,
    )


def _most_repeated(evidence: Evidence) -> tuple[float, list[int], int]:
    """The loss value that returned most often, its steps, and the number of distinct values."""
    steps_of: dict[float, list[int]] = {}
    before = math.nan
    for step, loss, _ in evidence.losses:
        if loss != before:  # where losses are read now and then, a heartbeat repeats the last one
            steps_of.setdefault(loss, []).append(step)
        before = loss
    repeated = {
        loss: steps
        for loss, steps in steps_of.items()
        if math.isfinite(loss)
        and abs(loss) > thresholds.AT_THE_FLOOR
        and len(steps) >= thresholds.SAME_LOSS_TIMES
        and steps[-1] - steps[0] >= thresholds.SAME_LOSS_OVER_STEPS
    }
    loss, steps = max(repeated.items(), key=lambda pair: len(pair[1]), default=(0.0, []))
    return loss, steps, len(steps_of)
