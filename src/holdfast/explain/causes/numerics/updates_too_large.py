"""A loss that stays finite under a learning rate that is too high: it jumps and stays, or every step is a leap."""

import math

from holdfast.explain.causes.numerics import thresholds
from holdfast.explain.readings.course import Course
from holdfast.explain.readings.weights import (
    highest_rate,
    moved,
    not_learned,
    pressed_to_nothing,
    update_ratio,
)
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, facts


def updates_too_large(evidence: Evidence) -> Finding | RuledOut | None:
    """Only of a training that has learned nothing: large steps that learn are no fault."""
    training = not_learned(evidence)
    if training is None or training.learned is None:
        return None
    return _spike(evidence, training) or _leaps(evidence, training)


def _spike(evidence: Evidence, training: Course) -> Finding | None:
    """It jumped in the first steps and settled above the answer that ignores the inputs."""
    losses = [(step, loss, source) for step, loss, source in evidence.losses if math.isfinite(loss)]
    if len(losses) < thresholds.FEWEST_LOSSES or training.constant is None:
        return None
    first = min(abs(loss) for _, loss, _ in losses[: thresholds.LOSSES_AT_THE_ENDS])
    _, highest, source = max(losses, key=lambda one: one[1])
    settled = thresholds.ABOVE_CONSTANT * training.constant
    if highest < thresholds.SPIKED * max(first, training.constant) or training.last < settled:
        return None
    rate = highest_rate(evidence)
    values = {"first": first, "highest": highest, "last": training.last, "constant": training.constant}
    large = _large(evidence)
    return Finding(
        Strength.SUPPORTED if large is not None else Strength.POSSIBLE,
        Title("learning-rate-too-high.spike", {**values, "learning_rate": rate}),
        facts(Fact("loss.spike", values, source), large, learning_rate(rate, source), training.fact),
        remedies(rate),
        led_to="loss-not-falling",
        ends=False,
    )


def _leaps(evidence: Evidence, training: Course) -> Finding | RuledOut | None:
    """Each step replaces a good part of the weights. Where nothing is left of them in the end, the steps were no leaps
    along a gradient: these lead to other weights."""
    large, rate = _large(evidence), highest_rate(evidence)
    if large is None:
        return None
    if (left := pressed_to_nothing(evidence)) is not None:
        last = moved(evidence, "start")[-1]
        return RuledOut("learning-rate-too-high.weights-vanish", {"shrunk": left}, last.source)
    return Finding(
        Strength.supported_if(_settled(training)),
        Title("learning-rate-too-high.updates", {"ratio": large.values["ratio"], "learning_rate": rate}),
        facts(large, learning_rate(rate, large.source), training.fact, training.accuracy_fact),
        remedies(rate),
        led_to="loss-not-falling",
        ends=False,
    )


def _settled(training: Course) -> bool:
    """Not below the answer that ignores the inputs, after enough steps: a healthy training of some dozen steps has come
    down to there, and its first steps were large because the weights were small."""
    below = training.constant is not None and training.last < training.constant
    return training.steps >= thresholds.STEPS_TO_SETTLE and not below


def _large(evidence: Evidence) -> Fact | None:
    """At the first step that was compared: later the weights have grown, and a leap is a small part of them."""
    for one in moved(evidence, "step"):
        ratio = update_ratio(one.event)
        if ratio is not None:
            return one.fact("updates.large", ratio=ratio) if ratio > thresholds.LEAP else None
    return None


def remedies(rate: float | None) -> tuple[Remedy, Remedy]:
    """A tenth; where that is still above what is in use, a tenth of the highest."""
    lower = {"learning_rate": min(rate, thresholds.HIGHEST_LEARNING_RATE) / 10 if rate else None}
    return Remedy("learning-rate.lower", lower), Remedy("gradients.clip")


def learning_rate(rate: float | None, source: str) -> Fact | None:
    return Fact("learning-rate.was", {"learning_rate": rate}, source) if rate is not None else None
