"""A value left the range of float16."""

from __future__ import annotations

from holdfast.explain.causes.numerics.thresholds import FAR_BEYOND_FLOAT16
from holdfast.explain.readings.numerics import became_non_finite, grew_before, non_finite
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause


@cause("half-precision-overflow", specialises=("loss-not-finite",))
def half_precision_overflow(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    if broken is None:
        return None
    event = broken.event
    precision = event.precision or (evidence.model.event.precision if evidence.model is not None else "")
    if "float16" not in precision or "bfloat16" in precision or event.input_finite is False:
        return None
    facts = [became_non_finite(broken), Fact("precision.float16", {"precision": precision}, broken.source)]
    scale = event.detail.get("loss_scale")
    if scale is not None:
        facts.append(Fact("loss.scale", {"scale": scale}, broken.source))
    grown = grew_before(broken) and (event.last_finite or 0.0) > FAR_BEYOND_FLOAT16
    against = (Fact("loss.grew-beyond-float16", {}, broken.source),) if grown else ()
    return Finding(
        Strength.POSSIBLE if grown else Strength.SUPPORTED,
        Title("half-precision-overflow", {"precision": precision}),
        because=facts,
        against=against,
        remedies=[Remedy("precision.use-bfloat16"), Remedy("precision.keep-float32")],
        led_to="loss-not-finite",
        ends=False,
    )
