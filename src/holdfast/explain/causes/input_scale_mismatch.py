"""Inputs are in another range than the model was made for."""

from __future__ import annotations

import math

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.grounds import non_finite
from holdfast.explain.nodes import number_of
from holdfast.explain.words import number
from holdfast.journal import events as ev


def input_scale_mismatch(evidence: Evidence) -> Finding | None:
    model, (top, source) = evidence.model, _range(evidence)
    if model is None or top is None or top < 32:
        return None
    kinds = model.event.layer_kinds
    scaled = any(
        name in kinds
        for name in (
            "Rescaling",
            "Normalization",
            "BatchNormalization",
            "LayerNormalization",
            "GroupNormalization",
            "Lambda",
            "Embedding",
            "TrueDivide",
            "Multiply",
            "CastToFloat32",
            "SyncBatchNormalization",
        )
    )
    convolutional = any("Conv" in name for name in kinds) or any("Dense" in name for name in kinds)
    if scaled or not convolutional:
        return None
    first, last = _loss_course(evidence)
    broken = non_finite(evidence)
    flat = first is not None and last is not None and math.isfinite(last) and last > 0.9 * first
    if not (flat or broken is not None):
        return None
    facts = [
        Fact(f"inputs go up to {number(top)}, as pixels do that were not scaled", source),
        Fact("the model has no layer that scales or normalises", model.source),
    ]
    if broken is not None:
        facts.append(
            Fact(
                f"the {broken.event.what} became {broken.event.value} at step {broken.event.step:,}",
                broken.source,
            )
        )
    elif first is not None and last is not None:
        facts.append(Fact(f"the loss went from {number(first)} to {number(last)}", "journal.jsonl"))
    return Finding(
        "input-scale-mismatch",
        Strength.SUPPORTED,
        f"inputs go up to {number(top)}, and the model has nothing that scales them",
        tuple(facts),
        (),
        (
            Remedy(
                "scale in the model, where it cannot be forgotten",
                "your-choice",
                "keras.layers.Rescaling(1 / 255)",
            ),
            Remedy("with weights of others, use their own preprocess_input", "your-choice"),
        ),
        ends=False,
    )


def _range(evidence: Evidence) -> tuple[float | None, str]:
    data = evidence.data()
    if data is not None:
        for name, values in data.event.statistics.items():
            if name.startswith("x") and isinstance(values, dict) and values.get("max") is not None:
                return number_of(values["max"]), data.source
    for said in evidence.all(ev.BatchSeen):
        for part in said.event.parts:
            shape = part.get("shape") or []
            if part.get("max") is not None and len(shape) >= 3:
                return number_of(part["max"]), said.source
        if said.event.parts and said.event.parts[0].get("max") is not None:
            return number_of(said.event.parts[0]["max"]), said.source
    return None, ""


def _loss_course(evidence: Evidence) -> tuple[float | None, float | None]:
    epochs = [number_of(said.event.logs.get("loss")) for said in evidence.all(ev.EpochDone)]
    known = [loss for loss in epochs if loss is not None]
    if len(known) >= 2:
        return known[0], known[-1]
    finite = [loss for _, loss, _ in evidence.losses if math.isfinite(loss)]
    return (finite[0], finite[-1]) if len(finite) > 10 else (None, None)


PAGE = """\
What it is
  Pixels of 0 … 255 go into a network made for 0 … 1 (or the other way
  round): activations are a hundred times too large, the loss is NaN or does
  not move.

How Holdfast knows
  The range of the first batch or of the arrays, the absence of any scaling
  layer, and a loss that broke or stays where it began. A loss that falls
  rules it out.

How to make it happen
  Train a plain network on uint8 pixels cast to float.

How to cure it
  Scale in the model.
      inputs = keras.Input((512, 512, 3))
      x = keras.layers.Rescaling(1 / 255)(inputs)

When Holdfast would be wrong
  If the loss is flat for another reason and the model does well with large
  inputs.
"""
