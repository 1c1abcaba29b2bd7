"""A value left the range of float16."""

from holdfast.explain.causes.numerics.thresholds import FAR_BEYOND_FLOAT16
from holdfast.explain.readings.numerics import became_non_finite, grew_before, non_finite
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev, facts


@cause("half-precision-overflow", specialises=("loss-not-finite",))
def half_precision_overflow(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    if broken is None:
        return None
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
