"""A value left the range of float16."""

from holdfast.explain.causes.numerics.thresholds import FAR_BEYOND_FLOAT16
from holdfast.explain.readings.numerics import became_non_finite, grew_before, non_finite, passed_over
from holdfast.explain.rule import Evidence, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

#: Steps in a row that a GradScaler leaves out: it halves its scale at each, and after 20 of them the largest scale that
#: it begins with (65536) is far below 1, where scaling is no reason for an overflow any more.
_LEFT_OUT = 20


@cause("half-precision-overflow", specialises=("loss-not-finite", "loss-not-falling"))
def half_precision_overflow(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    if (by_operation := _by_operation(evidence, broken)) is not None:
        return by_operation
    if broken is None:
        return _left_out(evidence)
    event = broken.event
    precision = event.precision or evidence.seen(ev.ModelSeen).precision
    if "float16" not in precision or "bfloat16" in precision or event.input_finite is False:
        return None
    scale = event.detail.get("loss_scale")
    grown = grew_before(broken) and (event.last_finite or 0.0) > FAR_BEYOND_FLOAT16
    return Finding(
        Strength.POSSIBLE if grown else Strength.SUPPORTED,
        Title("half-precision-overflow", {"precision": precision}),
        facts(
            became_non_finite(broken),
            broken.fact("precision.float16", precision=precision),
            scale is not None and broken.fact("loss.scale", scale=scale),
        ),
        (Remedy("precision.use-bfloat16"), Remedy("precision.keep-float32")),
        against=facts(grown and broken.fact("loss.grew-beyond-float16")),
        led_to="loss-not-finite",
        ends=False,
    )


def _by_operation(evidence: Evidence, broken: Recorded[ev.NonFiniteSeen] | None) -> Finding | None:
    """On torch: float16 operations whose inputs were finite, and whose result was the first that was not."""
    seen, scaler = evidence.last(ev.HalfRangeLeft), evidence.last(ev.ScalerSeen)
    left_out = scaler is not None and scaler.event.in_a_row >= _LEFT_OUT
    if seen is None or passed_over(evidence) or (broken is None and not left_out):
        return None
    event = seen.event
    values = {
        "operations": event.operations,
        "largest": event.largest,
        "step": event.step,
        "where": event.where,
    }
    return Finding(
        Strength.SUPPORTED,
        Title("half-precision-overflow.operation", values),
        facts(
            became_non_finite(broken),
            seen.fact("half.operation-left-range", **values),
            left_out and scaler is not None and scaler.fact("scaler.left-out", **_counts(scaler.event)),
        ),
        (Remedy("precision.use-bfloat16-in-torch"), Remedy("precision.keep-float32-in-torch")),
        led_to="loss-not-finite",
        ends=False,
    )


def _counts(event: ev.ScalerSeen) -> dict[str, object]:
    return {"in_a_row": event.in_a_row, "steps": event.steps, "where": event.where, "scale": event.scale}


def _left_out(evidence: Evidence) -> Finding | None:
    """torch's GradScaler leaves out one step after the other, and the weights stay finite and as they are."""
    seen = evidence.last(ev.ScalerSeen)
    if seen is None or seen.event.in_a_row < _LEFT_OUT or not seen.event.half:
        return None
    event = seen.event
    values = {"in_a_row": event.in_a_row, "steps": event.steps, "where": event.where}
    return Finding(
        Strength.POSSIBLE if event.loss_finite else Strength.SUPPORTED,
        Title("half-precision-overflow.steps-left-out", values),
        facts(
            seen.fact("scaler.left-out", **_counts(event)),
            event.loss_finite is False and seen.fact("scaler.loss-not-finite"),
            seen.fact("scaler.half"),
        ),
        (Remedy("precision.use-bfloat16-in-torch"), Remedy("precision.keep-float32-in-torch")),
        ends=False,
    )
