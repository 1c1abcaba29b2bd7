"""The loss is finite and its gradient is not."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numerics import grew_before, non_finite
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import number


@cause(
    "loss-singular",
    Group.NUMERICS,
    specialises=(
        "loss-not-finite",
        "loss-not-falling",
    ),
)
def loss_singular(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    if broken is None or grew_before(broken):
        return None
    event = broken.event
    first = event.what in ("weights", "gradient")
    before = event.what in ("loss", "loss-part") and event.weights_finite_before is False
    if not (first or before) or event.input_finite is False or "float16" in event.precision:
        return None
    late = (
        event.detail.get("seen") == "later"
    )  # when it broke was not seen, and a NaN in the data looks the same
    facts = []
    if first:
        facts.append(
            Fact(
                f"at step {event.step:,} {event.name or 'the ' + event.what} was no longer finite while the "
                f"loss was still {number(event.last_finite)}",
                broken.source,
            )
        )
    else:
        facts.append(
            Fact(
                f"the loss became {event.value} at step {event.step:,}; the weights had broken one step "
                f"earlier, with a loss of {number(event.last_finite)}",
                broken.source,
            )
        )
    facts.append(Fact("so the loss had a value there and its gradient had none", broken.source))
    return Finding(
        "loss-singular",
        Strength.POSSIBLE if late and event.input_finite is not True else Strength.SUPPORTED,
        "the loss has no finite gradient at some value: the weights broke before the loss did",
        tuple(facts),
        (),
        (
            Remedy(
                "keep away from the point: an epsilon inside sqrt, log, division and norm",
                "your-choice",
                "tf.sqrt(x + 1e-8)   # not tf.sqrt(x)",
            ),
            Remedy("find the operation", "your-choice", _FIND.get(evidence.backend, _FIND["tensorflow"])),
        ),
        led_to="loss-not-finite",
        ends=False,
    )


_FIND = {
    "tensorflow": "tf.debugging.enable_check_numerics()",
    "jax": 'jax.config.update("jax_debug_nans", True)',
    "torch": "torch.autograd.set_detect_anomaly(True)",
}
