"""The loss does not fall."""

from __future__ import annotations

import math

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import number, whole
from holdfast.journal import events as ev

_FEWEST_STEPS = 20


@cause("loss-not-falling", Group.NUMERICS)
def loss_not_falling(evidence: Evidence) -> Finding | None:
    return _never_applied(evidence) or _stood_still(evidence) or _flat(evidence)


def _flat(evidence: Evidence) -> Finding | None:
    told = evidence.all(ev.EpochDone)
    if _begun_anew(evidence) and evidence.fit is not None:  # folds and trials: each has a curve of its own
        told = list(evidence.fit.epochs)
    epochs = [(number_of(said.event.logs.get("loss")), said) for said in told]
    losses = [(loss, said) for loss, said in epochs if loss is not None]
    if not losses:
        return _same_again(evidence)
    if len(losses) < 5 or any(not math.isfinite(loss) for loss, _ in losses) or (evidence.step or 0) < 100:
        return None
    values = [loss for loss, _ in losses]
    first, last, least = values[0], values[-1], min(values)
    if abs(first) < 1e-3 or least < 0.98 * first:
        return None
    spread = (max(values) - least) / abs(first)
    accuracy = [
        number_of(said.event.logs.get(name))
        for _, said in losses[-1:]
        for name in said.event.logs
        if "acc" in name and not name.startswith("val_")
    ]
    if any(value is not None and value > 0.9 for value in accuracy):
        return None
    facts = [
        Fact(
            f"the loss was {number(first)} in epoch 1 and is {number(last)} after {len(values)} epochs, "
            f"{evidence.step:,} steps",
            losses[-1][1].source,
        )
    ]
    model = evidence.model
    if model is not None:
        facts.append(
            Fact(
                f"{whole(model.event.trainable_parameters)} parameters are trainable; the learning rate began "
                f"at {number(model.event.learning_rate)}",
                model.source,
            )
        )
    restored = evidence.last(ev.Restored)
    stood = any(fit.done is not None and fit.done.event.weights_changed is False for fit in evidence.fits)
    against = []
    starts = [fit.started.event.iterations for fit in evidence.fits if fit.started is not None]
    unsure = len(starts) > 1 and None in starts  # folds, or one model that goes on: nobody said
    if restored is not None and not stood:
        words = f"it began with the weights of {restored.event.path or 'an earlier run'}: it may be as good as it gets"
        against.append(Fact(words, restored.source))
    return Finding(
        "loss-not-falling",
        Strength.SUPPORTED if spread < 0.005 and not against and not unsure else Strength.POSSIBLE,
        f"the loss does not fall: {number(first)} to {number(last)} in {len(values)} epochs",
        tuple(facts),
        (
            *against,
            Fact(
                "not found: frozen weights, a learning rate near 0, a loss part of exactly 0.0, inputs out of scale"
            ),
        ),
        _REMEDIES,
        ends=False,
    )


def _begun_anew(evidence: Evidence) -> bool:
    """A later fit began with an optimizer that had done nothing: another model, or the same one compiled again."""
    starts = [fit.started.event.iterations for fit in evidence.fits[1:] if fit.started is not None]
    return any(iterations == 0 for iterations in starts)


def _never_applied(evidence: Evidence) -> Finding | None:
    """Told when the process ended: gradients of the weights, an optimizer that took no step, weights as they were."""
    said = next(iter(evidence.all(ev.GradientsNotApplied)), None)
    if said is None:
        return None
    optimizer, where, times = said.event.optimizer, said.event.where, said.event.times
    return Finding(
        "loss-not-falling",
        Strength.SUPPORTED,
        f"the gradients taken at {where} are never applied: no weight changed",
        (
            Fact(f"gradients of the weights were taken {whole(times)} times at {where}", said.source),
            Fact(
                f"the {optimizer} made at {said.event.optimizer_where} took no step in the whole run",
                said.source,
            ),
            Fact(
                "the weights that were compared are at the end what they were at the first gradient",
                said.source,
            ),
        ),
        (),
        (
            Remedy(
                "apply them after each gradient",
                "your-choice",
                "optimizer.apply_gradients(zip(gradients, model.trainable_variables))",
            ),
        ),
        ends=False,
    )


def _stood_still(evidence: Evidence) -> Finding | None:
    """A whole fit after which its weights are what they were, though they may change: a `train_step` of one's own."""
    fit, model = evidence.fit, evidence.model
    if fit is None or fit.done is None or fit.started is None or model is None or fit.mixed:
        return None
    done, before = fit.done.event, fit.started.event.iterations
    if done.weights_changed is not False or done.raised or done.steps < _FEWEST_STEPS:
        return None
    if not model.event.trainable_parameters or model.event.learning_rate == 0.0:
        return None
    unmoved = before is not None and done.iterations == before
    facts = [
        Fact(
            f"after {whole(done.steps)} steps the weights that were compared are what they were",
            fit.done.source,
        ),
        Fact(f"{whole(model.event.trainable_parameters)} parameters are trainable", model.source),
    ]
    if unmoved:
        facts.append(Fact(f"the optimizer still counts {whole(before or 0)} steps", fit.done.source))
    return Finding(
        "loss-not-falling",
        Strength.ESTABLISHED if unmoved else Strength.POSSIBLE,
        f"no weight changed in {whole(done.steps)} steps"
        + (": the gradients are never applied" if unmoved else ""),
        tuple(facts),
        (),
        (
            Remedy(
                "apply the gradients in your own `train_step`",
                "your-choice",
                "self.optimizer.apply(gradients, self.trainable_variables)",
            ),
        ),
        ends=False,
    )


def _same_again(evidence: Evidence) -> Finding | None:
    """A loop without epochs that anybody told of: a batch that comes again has, to the last digit, the loss it had."""
    steps_of: dict[float, list[int]] = {}
    before = math.nan
    for step, loss, _ in evidence.losses:
        if (
            loss != before
        ):  # where losses are read now and then, a beat tells the last one that was read once more
            steps_of.setdefault(loss, []).append(step)
        before = loss
    again = {
        loss: steps
        for loss, steps in steps_of.items()
        if math.isfinite(loss) and abs(loss) > 1e-3 and len(steps) >= 4 and steps[-1] - steps[0] >= 100
    }
    loss, steps = max(again.items(), key=lambda pair: len(pair[1]), default=(0.0, []))
    if not steps or steps[-1] < 0.7 * (evidence.step or 0) or len(steps_of) < 8:
        return None
    return Finding(
        "loss-not-falling",
        Strength.SUPPORTED,
        f"the loss does not fall: a batch has the same loss at step {steps[-1]:,} as at step {steps[0]:,}",
        (
            Fact(
                f"the loss was {loss!r}, to the last digit, at {len(steps)} steps between {steps[0]:,} and "
                f"{steps[-1]:,}; others lie between them",
                "journal.jsonl",
            ),
        ),
        (Fact("the weights themselves were not looked at"),),
        _REMEDIES,
        ends=False,
    )


_REMEDIES = (
    Remedy(
        "try to learn one batch by heart; if that does not work, the model or the loss is wrong, not the data",
        "guess",
        "model.fit(ds.take(1).repeat(), steps_per_epoch=200)",
    ),
    Remedy(
        "look for dead units: a bias far below zero before a ReLU, a learning rate ten times too high or too low",
        "guess",
    ),
)
