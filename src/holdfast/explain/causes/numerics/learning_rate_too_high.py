"""The loss grew over several steps until it broke."""

from __future__ import annotations

import math

from holdfast.explain.causes.numerics import thresholds
from holdfast.explain.readings.numbers import median
from holdfast.explain.readings.numerics import grew_before, jumped, non_finite, outlier, steps_before
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, cause, ev


@cause("learning-rate-too-high", specialises=("loss-not-finite", "loss-not-falling"))
def learning_rate_too_high(evidence: Evidence) -> Finding | RuledOut | None:
    broken = non_finite(evidence)
    far = outlier(evidence)
    if far is not None:
        return RuledOut("learning-rate-too-high.one-batch", far.values, far.source)
    if broken is None:
        return _still_finite(evidence)
    losses = steps_before(broken) or [loss for _, loss, _ in evidence.losses if math.isfinite(loss)]
    if grew_before(broken) or _grew(losses):
        return _until_it_broke(evidence, broken, losses)
    return _not_grown(broken, losses) if len(losses) > 2 else None


def _not_grown(broken: Recorded[ev.NonFiniteSeen], losses: list[float]) -> RuledOut:
    values = {"before": losses[-2], "last": losses[-1]}
    kind = "learning-rate-too-high.jumped" if jumped(losses) else "learning-rate-too-high.did-not-grow"
    return RuledOut(kind, values, broken.source)


def _until_it_broke(evidence: Evidence, broken: Recorded[ev.NonFiniteSeen], losses: list[float]) -> Finding:
    event = broken.event
    quoted = {"losses": losses[-thresholds.QUOTED_LOSSES :], "value": event.value, "step": event.step}
    facts = [Fact("loss.grew-until-it-broke", quoted, broken.source)]
    facts += _learning_rate(event.learning_rate, broken.source) + _optimizer(evidence)
    against = (Fact("input.not-finite", {}, broken.source),) if event.input_finite is False else ()
    unsure = against or ("float16" in event.precision and not _grew(losses))
    return _finding(
        Strength.POSSIBLE if unsure else Strength.SUPPORTED,
        Title("learning-rate-too-high", {"step": event.step, "learning_rate": event.learning_rate}),
        facts,
        against,
        event.learning_rate,
        "loss-not-finite",
    )


def _still_finite(evidence: Evidence) -> Finding | None:
    """It grew to a size from which no training comes back, and the run ended before it broke."""
    losses = [(step, loss, source) for step, loss, source in evidence.losses if math.isfinite(loss)]
    if huge := _huge_from_the_start(evidence, losses):
        return huge
    if len(losses) < thresholds.FEWEST_LOSSES:
        return None
    ends = thresholds.LOSSES_AT_THE_ENDS
    first = min(abs(loss) for _, loss, _ in losses[:ends])  # it may have grown within two steps
    last = median([loss for _, loss, _ in losses[-ends:]])  # one that falls far below zero has not grown
    steps = losses[-1][0] - losses[0][0]
    beyond = max(thresholds.GREW_BEYOND * first, thresholds.LARGE_LOSS)
    if first < thresholds.TINY_LOSS or last < beyond or steps < thresholds.FEWEST_STEPS_BETWEEN:
        return None
    seen = evidence.last(ev.LossSeen)
    learning_rate = seen.event.learning_rate if seen is not None else None
    values = {
        "first": losses[0][1],
        "first_step": losses[0][0],
        "last": losses[-1][1],
        "last_step": losses[-1][0],
    }
    facts = [Fact("loss.between", values, losses[-1][2])]
    facts += _learning_rate(learning_rate, seen.source if seen is not None else "")
    title = Title("learning-rate-too-high.finite", {"times": last / first, "learning_rate": learning_rate})
    return _finding(Strength.SUPPORTED, title, facts, (), learning_rate, "loss-not-falling")


def _huge_from_the_start(evidence: Evidence, losses: list[tuple[int, float, str]]) -> Finding | None:
    """A program that shows its loss every hundred steps may have diverged before the first one."""
    seen = evidence.last(ev.LossSeen)
    learning_rate = seen.event.learning_rate if seen is not None else None
    if seen is None or learning_rate is None or learning_rate <= thresholds.HIGHEST_LEARNING_RATE:
        return None
    if not losses or min(abs(loss) for _, loss, _ in losses) < thresholds.HUGE_LOSS:
        return None
    step, loss, source = losses[-1]
    values = {"loss": loss, "step": step, "learning_rate": learning_rate}
    facts = [Fact("loss.huge", {"loss": losses[0][1], "step": losses[0][0]}, losses[0][2])]
    facts += _learning_rate(learning_rate, source)
    title = Title("learning-rate-too-high.huge", values)
    return _finding(Strength.SUPPORTED, title, facts, (), learning_rate, "loss-not-falling")


def _finding(
    strength: Strength,
    title: Title,
    facts: list[Fact],
    against: tuple[Fact, ...],
    learning_rate: float | None,
    led_to: str,
) -> Finding:
    lower = {"learning_rate": learning_rate / 10 if learning_rate else None}
    remedies = (Remedy("learning-rate.lower", lower), Remedy("gradients.clip"))
    return Finding(strength, title, facts, remedies, against=against, led_to=led_to, ends=False)


def _learning_rate(learning_rate: float | None, source: str) -> list[Fact]:
    if learning_rate is None:
        return []
    return [Fact("learning-rate.was", {"learning_rate": learning_rate}, source)]


def _optimizer(evidence: Evidence) -> list[Fact]:
    model = evidence.model
    if model is None or not model.event.optimizer:
        return []
    clipping = {
        name: value for name, value in model.event.optimizer_settings.items() if "clip" in name and value
    }
    values = {"optimizer": model.event.optimizer, "clipping": clipping}
    return [Fact("optimizer.clipping", values, model.source)]


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
