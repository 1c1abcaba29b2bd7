"""The loss does not fall."""

from __future__ import annotations

import math

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.nodes import number_of
from holdfast.explain.words import number, whole
from holdfast.journal import events as ev


def loss_not_falling(evidence: Evidence) -> Finding | None:
    epochs = [(number_of(said.event.logs.get("loss")), said) for said in evidence.all(ev.EpochDone)]
    losses = [(loss, said) for loss, said in epochs if loss is not None]
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
    return Finding(
        "loss-not-falling",
        Strength.SUPPORTED if spread < 0.005 else Strength.POSSIBLE,
        f"the loss does not fall: {number(first)} to {number(last)} in {len(values)} epochs",
        tuple(facts),
        (
            Fact(
                "not found: frozen weights, a learning rate near 0, a loss part of exactly 0.0, inputs out of scale"
            ),
        ),
        (
            Remedy(
                "try to learn one batch by heart; if that does not work, the model or the loss is wrong, not the data",
                "guess",
                "model.fit(ds.take(1).repeat(), steps_per_epoch=200)",
            ),
            Remedy(
                "look for dead units: a bias far below zero before a ReLU, a learning rate ten times too high "
                "or too low",
                "guess",
            ),
        ),
        ends=False,
    )


PAGE = """\
What it is
  Training runs and the loss stays where it began: dead units, a loss that
  does not depend on the weights, targets that do not belong to the inputs,
  a rate too low.

How Holdfast knows
  The loss of at least five epochs moves by less than half a percent, is not
  near zero, and none of the known reasons applies.

How to make it happen
  ReLU layers with a bias of -50.

How to cure it
  Learn one batch by heart first.
      model.fit(ds.take(1).repeat(), steps_per_epoch=200, epochs=1)

When Holdfast would be wrong
  If the model was already as good as it gets when the run began.
"""
