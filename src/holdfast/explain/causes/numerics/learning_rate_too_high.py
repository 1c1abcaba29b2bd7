"""The loss grew over several steps until it broke."""

from __future__ import annotations

import math

from holdfast.explain import finding
from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numbers import median
from holdfast.explain.readings.numerics import grew_before, jumped, non_finite, steps_before
from holdfast.explain.unconverted import Fact, Finding, Remedy, RuledOut, Strength, outlier
from holdfast.explain.words import number
from holdfast.journal import events as ev


@cause(
    "learning-rate-too-high",
    Group.NUMERICS,
    specialises=(
        "loss-not-finite",
        "loss-not-falling",
    ),
)
def learning_rate_too_high(evidence: Evidence) -> Finding | finding.RuledOut | None:
    broken = non_finite(evidence)
    far = outlier(evidence)
    if far is not None:
        return finding.RuledOut("learning-rate-too-high.one-batch", far.values, far.source)
    if broken is None:
        return _finite(evidence)
    event = broken.event
    values = steps_before(broken) or [loss for _, loss, _ in evidence.losses if math.isfinite(loss)]
    if not (grew_before(broken) or _grew(values)):
        if len(values) > 2:
            return RuledOut(
                "learning-rate-too-high",
                f"the loss was {number(values[-1])} at the step before it broke: it jumped, and did not grow"
                if not jumped(values)
                else f"the loss jumped from {number(values[-2])} to {number(values[-1])} in one step, and broke",
                broken.source,
            )
        return None
    rate = event.learning_rate
    shown = [number(value) for value in values[-6:]]
    facts = [
        Fact(
            f"the loss grew before it broke at step {event.step:,}: {', '.join(shown)}, then {event.value}",
            broken.source,
        )
    ]
    if rate is not None:
        facts.append(Fact(f"the learning rate was {number(rate)}", broken.source))
    model = evidence.model
    if model is not None and model.event.optimizer:
        clip = {
            name: value for name, value in model.event.optimizer_settings.items() if "clip" in name and value
        }
        facts.append(
            Fact(
                f"optimizer {model.event.optimizer}, {'clipping ' + str(clip) if clip else 'no clipping of gradients'}",
                model.source,
            )
        )
    against = (Fact("inputs were not finite", broken.source),) if event.input_finite is False else ()
    half = "float16" in event.precision
    return Finding(
        "learning-rate-too-high",
        Strength.POSSIBLE if against or (half and not _grew(values)) else Strength.SUPPORTED,
        f"the loss grew from step to step until it broke at step {event.step:,}"
        + (f"; the learning rate is {number(rate)}" if rate is not None else ""),
        tuple(facts),
        against,
        _remedies(rate),
        led_to="loss-not-finite",
        ends=False,
    )


def _finite(evidence: Evidence) -> Finding | None:
    """It grew to a size from which no training comes back, and the run ended before it broke."""
    losses = [(step, loss, source) for step, loss, source in evidence.losses if math.isfinite(loss)]
    if len(losses) < 6:
        return None
    first = min(abs(loss) for _, loss, _ in losses[:3])  # it may have left within two steps
    last = median([loss for _, loss, _ in losses[-3:]])  # one that falls far below zero has not grown
    if first < 1e-6 or last < max(_BEYOND * first, _LARGE) or losses[-1][0] - losses[0][0] < 5:
        return None
    seen = evidence.last(ev.LossSeen)
    rate = seen.event.learning_rate if seen is not None else None
    facts = [
        Fact(
            f"the loss was {number(losses[0][1])} at step {losses[0][0]:,} and {number(losses[-1][1])} at step "
            f"{losses[-1][0]:,}",
            losses[-1][2],
        )
    ]
    if rate is not None and seen is not None:
        facts.append(Fact(f"the learning rate was {number(rate)}", seen.source))
    return Finding(
        "learning-rate-too-high",
        Strength.SUPPORTED,
        f"the loss grew {number(last / first)} times"
        + (f"; the learning rate is {number(rate)}" if rate is not None else ""),
        tuple(facts),
        (),
        _remedies(rate),
        led_to="loss-not-falling",
        ends=False,
    )


_BEYOND = 1e4  # no schedule of a loss's weights and no curriculum makes so much of it
_LARGE = 1e3  # a part that is switched on later may make a loss of next to nothing an ordinary one


def _remedies(rate: float | None) -> tuple[Remedy, ...]:
    lower = f"{rate / 10:.3g}" if rate else "a tenth"
    return (
        Remedy(
            f"a learning rate of {lower}, rising to it over the first steps",
            "your-choice",
            "keras.optimizers.schedules.CosineDecay(1e-5, steps, warmup_target=1e-3, warmup_steps=500)",
        ),
        Remedy("clip gradients", "your-choice", "keras.optimizers.SGD(1e-2, clipnorm=10.0)"),
    )


def _grew(values: list[float]) -> bool:
    sizes = [abs(value) for value in values]
    if jumped(sizes):
        return False
    if len(sizes) < 3:
        return len(sizes) == 2 and sizes[-1] > 1e3 * max(sizes[0], 1e-6)
    usual = median(sizes[: max(1, len(sizes) // 2)])
    return (sizes[-1] > 20 * max(usual, 1e-9) and sizes[-1] >= sizes[-2] >= sizes[-3]) or sizes[
        -1
    ] > 1e4 * max(usual, 1e-6)
