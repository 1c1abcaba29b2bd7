"""Gradients grow by orders of magnitude from the last layer to the first."""

import math

from holdfast.explain.causes.weights.thresholds import (
    EXPLODED,
    FAR_ABOVE_CONSTANT,
    FEWEST_KERNELS,
    LARGE_GRADIENT,
)
from holdfast.explain.readings.course import Course
from holdfast.explain.readings.weights import kernels, looked_at, not_learned
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, facts


@cause("exploding-gradients", specialises=("loss-not-falling", "loss-not-finite"), mechanism=True)
def exploding_gradients(evidence: Evidence) -> Finding | None:
    look, course = looked_at(evidence), not_learned(evidence)
    if look is None or course is None or course.learned is None:
        return None
    by_depth = kernels(look.event)
    if len(by_depth) < FEWEST_KERNELS or not by_depth[-1]["relative"]:
        return None
    first, last = max(by_depth[:-1], key=lambda one: one["relative"]), by_depth[-1]
    whole = math.sqrt(sum(one["norm"] ** 2 for one in by_depth))
    grown = first["norm"] / last["norm"]
    # With ReLU the gradients grow with what passes forwards, and so does the loss.
    far_off = training_is_far_off(course)
    if first["relative"] < LARGE_GRADIENT or not (grown > EXPLODED or far_off):
        return None
    values = {
        "first": first["layer"],
        "last": last["layer"],
        "first_norm": first["norm"],
        "last_norm": last["norm"],
        "relative": first["relative"],
        "kernels": len(by_depth),
        "whole": whole,
    }
    return Finding(
        Strength.SUPPORTED,
        Title("exploding-gradients", values),
        facts(look.fact("gradient.by-depth", **values), course.fact),
        (Remedy("gradients.clip"), Remedy("model.add-normalisation")),
        led_to="loss-not-falling",
        ends=False,
    )


def training_is_far_off(course: Course) -> bool:
    """A loss many times that of a constant answer; scales of targets alone leave it near there."""
    return course.constant is not None and course.last > FAR_ABOVE_CONSTANT * course.constant
