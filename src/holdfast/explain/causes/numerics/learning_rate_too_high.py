"""The loss grew over several steps until it broke."""

import math

from holdfast.explain.causes.numerics import thresholds
from holdfast.explain.causes.numerics.updates_too_large import learning_rate, remedies, updates_too_large
from holdfast.explain.doubted_setting import by_setting
from holdfast.explain.readings.numbers import median
from holdfast.explain.readings.numerics import grew_before, jumped, non_finite, outlier, steps_before
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, cause, ev, facts


@cause("learning-rate-too-high", specialises=("loss-not-finite", "loss-not-falling"))
def learning_rate_too_high(evidence: Evidence) -> Finding | RuledOut | None:
    broken, far = non_finite(evidence), outlier(evidence)
    if far is not None:
        return RuledOut("learning-rate-too-high.one-batch", far.values, far.source)
    if broken is None:
        found = _still_finite(evidence)
        if isinstance(found, Finding):
            return found
        return by_setting(evidence, "learning-rate-too-high.setting", "steps-too-large") or found
    losses = steps_before(broken) or [loss for _, loss, _ in evidence.losses if math.isfinite(loss)]
    if grew_before(broken) or _grew(losses):
        return _until_it_broke(evidence, broken, losses)
    if not losses:
        return _broken_from_the_start(broken)
    return _not_grown(broken, losses) if len(losses) > 2 else None


def _broken_from_the_start(broken: Recorded[ev.NonFiniteSeen]) -> Finding | None:
    """The loss is first known after steps, and is broken: at a learning rate above any in use, by that. The loss of the
    first step is computed before any weight changes."""
    event, rate = broken.event, broken.event.learning_rate or 0.0
    if rate <= thresholds.HIGHEST_LEARNING_RATE or event.step <= 1 or event.input_finite is False:
        return None
    values = {"value": event.value, "step": event.step}
    return Finding(
        Strength.SUPPORTED,
        Title("learning-rate-too-high.broken", {**values, "learning_rate": rate}),
        facts(broken.fact("loss.broken-when-first-known", **values), learning_rate(rate, broken.source)),
        remedies(rate),
        led_to="loss-not-finite",
        ends=False,
    )


def _not_grown(broken: Recorded[ev.NonFiniteSeen], losses: list[float]) -> RuledOut:
    values = {"before": losses[-2], "last": losses[-1]}
    kind = "learning-rate-too-high.jumped" if jumped(losses) else "learning-rate-too-high.did-not-grow"
    return RuledOut(kind, values, broken.source)


def _until_it_broke(evidence: Evidence, broken: Recorded[ev.NonFiniteSeen], losses: list[float]) -> Finding:
    event = broken.event
    quoted = {"losses": losses[-thresholds.QUOTED_LOSSES :], "value": event.value, "step": event.step}
    in_data = event.input_finite is False
    unsure = in_data or ("float16" in event.precision and not _grew(losses))
    return Finding(
        Strength.POSSIBLE if unsure else Strength.SUPPORTED,
        Title("learning-rate-too-high", {"step": event.step, "learning_rate": event.learning_rate}),
        facts(
            broken.fact("loss.grew-until-it-broke", **quoted),
            learning_rate(event.learning_rate, broken.source),
            _optimizer(evidence),
            _kept(evidence),
        ),
        _remedies(event.learning_rate, _kept(evidence)),
        against=facts(in_data and broken.fact("input.not-finite")),
        led_to="loss-not-finite",
        ends=False,
    )


def _still_finite(evidence: Evidence) -> Finding | RuledOut | None:
    """It grew to a size from which no training comes back, and the run ended before it broke."""
    losses = [(step, loss, source) for step, loss, source in evidence.losses if math.isfinite(loss)]
    if huge := _huge_from_the_start(evidence, losses):
        return huge
    if len(losses) < thresholds.FEWEST_LOSSES:
        return updates_too_large(evidence)
    ends = thresholds.LOSSES_AT_THE_ENDS
    first = min(abs(loss) for _, loss, _ in losses[:ends])  # it may have grown within two steps
    last = median([loss for _, loss, _ in losses[-ends:]])  # one that falls far below zero has not grown
    (first_step, first_loss, _), (last_step, last_loss, source) = losses[0], losses[-1]
    beyond = max(thresholds.GREW_BEYOND * first, thresholds.LARGE_LOSS)
    few = last_step - first_step < thresholds.FEWEST_STEPS_BETWEEN
    if first < thresholds.TINY_LOSS or last < beyond or few:
        return updates_too_large(evidence)
    seen = evidence.last(ev.LossSeen)
    rate = seen.event.learning_rate if seen is not None else None
    values = {"first": first_loss, "first_step": first_step, "last": last_loss, "last_step": last_step}
    return Finding(
        Strength.SUPPORTED,
        Title("learning-rate-too-high.finite", {"times": last / first, "learning_rate": rate}),
        facts(
            Fact("loss.between", values, source), seen and learning_rate(rate, seen.source), _kept(evidence)
        ),
        _remedies(rate, _kept(evidence)),
        led_to="loss-not-falling",
        ends=False,
    )


def _huge_from_the_start(evidence: Evidence, losses: list[tuple[int, float, str]]) -> Finding | None:
    """A program that shows its loss every hundred steps may have diverged before the first one."""
    rate = evidence.seen(ev.LossSeen).learning_rate
    if rate is None or rate <= thresholds.HIGHEST_LEARNING_RATE:
        return None
    if not losses or min(abs(loss) for _, loss, _ in losses) < thresholds.HUGE_LOSS:
        return None
    (first_step, first, first_source), (step, loss, source) = losses[0], losses[-1]
    huge = Fact("loss.huge", {"loss": first, "step": first_step}, first_source)
    return Finding(
        Strength.SUPPORTED,
        Title("learning-rate-too-high.huge", {"loss": loss, "step": step, "learning_rate": rate}),
        facts(huge, learning_rate(rate, source)),
        remedies(rate),
        led_to="loss-not-falling",
        ends=False,
    )


def _remedies(rate: float | None, kept: Fact | None = None) -> tuple[Remedy, ...]:
    return (Remedy("gradients.clear"), *remedies(rate)) if kept is not None else remedies(rate)


def _kept(evidence: Evidence) -> Fact | None:
    """Gradients that add up from step to step make steps too large, whatever the rate."""
    seen = evidence.first(ev.GradientsKept)
    return seen.fact("gradients.never-cleared", **ev.payload(seen.event)) if seen is not None else None


def _optimizer(evidence: Evidence) -> Fact | None:
    model = evidence.model
    if model is None or not model.event.optimizer:
        return None
    settings = model.event.optimizer_settings.items()
    clipping = {name: value for name, value in settings if "clip" in name and value}
    return model.fact("optimizer.clipping", optimizer=model.event.optimizer, clipping=clipping)


def _grew(losses: list[float]) -> bool:
    sizes = [abs(loss) for loss in losses]
    if jumped(sizes) or len(sizes) < 2:
        return False
    if len(sizes) == 2:
        return sizes[-1] > thresholds.ROSE_AT_ONCE * max(sizes[0], thresholds.TINY_LOSS)
    usual = max(median(sizes[: max(1, len(sizes) // 2)]), thresholds.TINY_LOSS)
    newest = sizes[-thresholds.LOSSES_AT_THE_ENDS :]
    steadily = sizes[-1] > thresholds.ROSE_STEADILY * usual and newest == sorted(newest)
    return steadily or sizes[-1] > thresholds.GREW_BEYOND * usual
