"""The model has no weight that training may change."""

import re

from holdfast.explain.causes.control.thresholds import FEWEST_STEPS, FEWEST_STEPS_OF_A_FIT, LITTLE_TRAINABLE
from holdfast.explain.doubted_setting import by_setting
from holdfast.explain.readings.course import course
from holdfast.explain.readings.error import ErrorText, user_line
from holdfast.explain.readings.warnings_seen import FrameworkWarning, warned_of
from holdfast.explain.readings.weights import moved
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

_WARNING = "does not have any trainable weights"
_REFUSED = ErrorText(
    r"No gradients provided for any variable|does not have any trainable"
    r"|does not require grad and does not have a grad_fn|optimizer got an empty parameter list"
)
_EMPTY = re.compile(r"not enough values to unpack \(expected 2, got 0\)")


@cause("nothing-trainable", specialises=("script-error", "loss-not-falling"))
def nothing_trainable(evidence: Evidence) -> Finding | None:
    by_loop = _in_a_loop(evidence)
    if by_loop is not None:
        return by_loop
    by_batch = any(loop.event.by == "train_on_batch" for loop in evidence.all(ev.LoopSeen))
    frozen, warned, refused = _frozen(evidence, by_batch), _warned(evidence), _refused(evidence)
    trained = evidence.fit is not None or refused is not None or (frozen is not None and by_batch)
    if not trained or (frozen is None and warned is None and refused is None):
        by_recipe = by_setting(evidence, "nothing-trainable.setting", "random-backbone-frozen")
        return by_recipe or _little(evidence)
    unchanged, models = _unchanged(evidence), evidence.all(ev.ModelSeen)
    learnable = not models or any(model.event.trainable_parameters > 0 for model in models)
    none_reached = refused is not None and frozen is None and learnable and warned is None
    certain = frozen is not None or unchanged is not None or refused is not None
    unfreeze = Remedy("model.unfreeze")
    return Finding(
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        Title("nothing-trainable.no-gradient" if none_reached else "nothing-trainable"),
        facts(
            frozen,
            warned and warned.fact,
            refused,
            refused is not None and user_line(evidence),
            unchanged,
        ),
        [Remedy("gradient.find-the-break"), unfreeze] if none_reached else [unfreeze],
        ends=refused is not None,
    )


def _in_a_loop(evidence: Evidence) -> Finding | None:
    """An optimizer of torch's takes steps, and every parameter that it was given is frozen; or it was given none."""
    seen = evidence.first(ev.StepsWithoutGradients)
    if seen is not None and seen.event.frozen is None and not seen.event.reached:
        return _of_other_weights(evidence, seen)
    if seen is None or seen.event.frozen is None:
        return _asked_for_nothing(evidence) or _left_alone(evidence)
    event = seen.event
    values = {"parameters": event.frozen, "where": event.optimizer_where, "optimizer": event.optimizer}
    return Finding(
        Strength.ESTABLISHED,
        Title("nothing-trainable"),
        (
            seen.fact("optimizer.all-frozen" if event.frozen else "optimizer.no-parameters", **values),
            seen.fact("optimizer.steps-without-gradient", **ev.payload(event)),
        ),
        [Remedy("parameters.unfreeze")],
        ends=False,
    )


def _of_other_weights(evidence: Evidence, seen: Recorded[ev.StepsWithoutGradients]) -> Finding:
    """What the optimizer was given is no part of what the loss comes from: of a model that was replaced, say."""
    values = ev.payload(seen.event)
    return Finding(
        Strength.ESTABLISHED if evidence.exit_code == 0 else Strength.SUPPORTED,
        Title("nothing-trainable.of-other-weights", values),
        [
            seen.fact("optimizer.steps-without-gradient", **values),
            seen.fact("optimizer.of-other-weights", **values),
        ],
        [Remedy("optimizer.give-its-parameters")],
        ends=False,
    )


def _asked_for_nothing(evidence: Evidence) -> Finding | None:
    seen = evidence.first(ev.GradientsOfNothing)
    if seen is None:
        return None
    values = ev.payload(seen.event)
    fact = seen.fact("gradients.of-nothing", **values)
    return Finding(
        Strength.SUPPORTED, Title("nothing-trainable"), [fact], [Remedy("model.unfreeze")], ends=False
    )


def _left_alone(evidence: Evidence) -> Finding | None:
    """JAX: by the step's program no weight depends on the data, and by their values none has changed."""
    seen = evidence.first(ev.WeightsLeftAlone)
    moves = moved(evidence, "start")
    if seen is None or seen.event.returned or not moves or moves[-1].event.step < FEWEST_STEPS:
        return None
    if any(it.get("change") for one in moves for it in one.event.variables):
        return None
    return Finding(
        Strength.ESTABLISHED,
        Title("nothing-trainable"),
        (
            seen.fact("step.leaves-weights", **ev.payload(seen.event)),
            moves[-1].fact("weights.none-changed", steps=moves[-1].event.step),
        ),
        [Remedy("gradient.find-the-break"), Remedy("updates.of-what-learns")],
        ends=False,
    )


def _little(evidence: Evidence) -> Finding | None:
    """Nearly all weights are frozen, and what is left has learned nothing: a new head alone would have learned."""
    model, training = evidence.model, course(evidence)
    if model is None or training is None or training.learned is not False or evidence.fit is None:
        return None
    parameters, trainable = model.event.parameters, model.event.trainable_parameters
    if not 0 < trainable < LITTLE_TRAINABLE * parameters:
        return None
    values = {"parameters": parameters, "trainable": trainable, "where": model.event.where}
    return Finding(
        Strength.POSSIBLE,
        Title("nothing-trainable.little", values),
        facts(model.fact("model.little-trainable", **values), training.fact, training.accuracy_fact),
        [Remedy("model.unfreeze")],
        ends=False,
    )


def _frozen(evidence: Evidence, by_batch: bool) -> Fact | None:
    """The newest model, if all of its weights are frozen.

    Which of several models a loop trains by the batch is not recorded: there all of them must be frozen.
    """
    models = evidence.all(ev.ModelSeen)
    looked_at = models if by_batch and evidence.fit is None else models[-1:]
    frozen = all(model.event.parameters > 0 and model.event.trainable_parameters == 0 for model in looked_at)
    if not looked_at or not frozen or (evidence.fit is None and not by_batch):
        return None
    event = models[-1].event
    return models[-1].fact("model.frozen", parameters=event.parameters, where=event.where)


def _warned(evidence: Evidence) -> FrameworkWarning | None:
    """Keras' warning, unless a model that was trained after it can learn: the warning was about an earlier one."""
    last = max((one.mono for one in evidence.all(ev.WarningSeen) if _WARNING in one.event.text), default=None)
    learns = any(
        last is not None and one.mono > last and one.event.trainable_parameters > 0
        for one in evidence.all(ev.ModelSeen)
    )
    return None if learns else warned_of(evidence, _WARNING)


def _refused(evidence: Evidence) -> Fact | None:
    error = evidence.error
    if error is None:
        return None
    quote = _REFUSED.match(evidence)
    if quote is not None:
        return quote.fact
    # An optimizer was given an empty list: Keras 3 unpacks it and says only that there is nothing in it.
    in_optimizer = any("apply_gradients" in frame for frame in error.frames)
    if not in_optimizer or not _EMPTY.search(error.message):
        return None
    return Fact("gradients.none-given", {"type": error.type, "message": error.message}, error.source)


def _unchanged(evidence: Evidence) -> Fact | None:
    done = evidence.fit.done if evidence.fit is not None else None
    if done is None or done.event.weights_changed is not False or done.event.steps <= FEWEST_STEPS_OF_A_FIT:
        return None
    return done.fact("weights.none-changed", steps=done.event.steps)
