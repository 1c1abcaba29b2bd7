"""A value left the range of float16."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numerics import grew_before, non_finite
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import number


@cause("half-precision-overflow", Group.NUMERICS, specialises=("loss-not-finite",))
def half_precision_overflow(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    if broken is None:
        return None
    event = broken.event
    precision = event.precision or (evidence.model.event.precision if evidence.model is not None else "")
    if "float16" not in precision or "bfloat16" in precision or event.input_finite is False:
        return None
    facts = [
        Fact(
            f"the {event.what} became {event.value} at step {event.step:,}"
            + (f"; it was {number(event.last_finite)} before" if event.last_finite is not None else ""),
            broken.source,
        ),
        Fact(
            f"the model computes in {precision}, which ends at 65,504 and loses everything below 6e-8",
            broken.source,
        ),
    ]
    scale = event.detail.get("loss_scale")
    if scale is not None:
        facts.append(Fact(f"the loss scale was {scale}", broken.source))
    grown = grew_before(broken) and (event.last_finite or 0.0) > 1e6
    return Finding(
        "half-precision-overflow",
        Strength.POSSIBLE if grown else Strength.SUPPORTED,
        f"a value left the range of {precision}",
        tuple(facts),
        (
            Fact(
                "the loss had grown far beyond float16's range before, as a learning rate makes it",
                broken.source,
            ),
        )
        if grown
        else (),
        (
            Remedy(
                "bfloat16 has the range of float32",
                "your-choice",
                'keras.mixed_precision.set_global_policy("mixed_bfloat16")',
            ),
            Remedy(
                "keep losses, norms and softmax in float32, and epsilons above 1e-4",
                "your-choice",
                'keras.layers.Activation("softmax", dtype="float32")',
            ),
        ),
        led_to="loss-not-finite",
        ends=False,
    )
