"""The loss is finite and its gradient is not."""

from holdfast.explain.readings.numerics import grew_before, non_finite
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev


@cause("loss-singular", specialises=("loss-not-finite", "loss-not-falling"))
def loss_singular(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    if broken is None or grew_before(broken):
        return None
    event = broken.event
    first = event.what in ("weights", "gradient")
    before = event.what in ("loss", "loss-part") and event.weights_finite_before is False
    if not (first or before) or event.input_finite is False or "float16" in event.precision:
        return None
    # Found later: the step was not seen, and NaN in the data looks the same.
    late = event.detail.get("seen") == "later"
    kind = "weights.broke-before-loss" if first else "weights.broke-one-step-earlier"
    values = {"step": event.step, "name": event.name or f"the {event.what}", "value": event.value}
    return Finding(
        Strength.POSSIBLE if late and not _inputs_finite(evidence, event) else Strength.SUPPORTED,
        Title("loss-singular"),
        (broken.fact(kind, **values, loss=event.last_finite), broken.fact("gradient.none-there")),
        (Remedy("loss.add-epsilon"), Remedy("nan.find-operation", {"backend": evidence.backend})),
        led_to="loss-not-finite",
        ends=False,
    )


def _inputs_finite(evidence: Evidence, event: ev.NonFiniteSeen) -> bool:
    """By the arrays of a fit, or by the samples of what the loop was given."""
    seen = [one.event.finite for one in evidence.all(ev.ValuesSeen) if one.event.role in ("input", "target")]
    batches = [part.get("finite") for one in evidence.all(ev.BatchSeen) for part in one.event.parts]
    sampled = bool(seen) and all(seen) and False not in batches
    return event.input_finite is True or (event.input_finite is None and sampled)
