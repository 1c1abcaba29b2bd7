"""ReLU units give zero for every input, and no gradient passes them."""

from holdfast.explain.causes.weights.thresholds import DEAD
from holdfast.explain.readings.course import Course
from holdfast.explain.readings.weights import (
    constant_answers,
    gradient_norms,
    is_kernel,
    looked_at,
    moved,
    not_learned,
)
from holdfast.explain.readings.weights import layers as all_layers
from holdfast.explain.rule import Evidence, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts
from holdfast.journal.events.event import Json

#: Activations that are zero, and have no gradient, below zero.
_CUT_OFF = ("relu", "relu6")


@cause("dead-units", specialises=("loss-not-falling",), mechanism=True)
def dead_units(evidence: Evidence) -> Finding | None:
    look, course = looked_at(evidence), not_learned(evidence)
    if course is None:
        return None
    if look is None:
        return _by_weights(evidence, course)
    layers = [one for one in look.event.activations if (one.get("zero") or 0.0) >= DEAD]
    if not layers:
        return None
    worst = max(layers, key=lambda one: one["zero"])
    same = constant_answers(evidence)
    nothing_passes = worst["zero"] == 1 and same is not None and not any(_norms(look, worst))
    last = worst is look.event.activations[-1]
    values = {"layer": worst["name"], "share": worst["zero"], "units": worst.get("units"), "last": last}
    return Finding(
        _strength(nothing_passes and not last, course.learned),
        Title("dead-units", values),
        facts(
            look.fact("units.zero", **values, rows=look.event.rows),
            nothing_passes and look.fact("gradient.exactly-zero", layer=worst["name"]),
            same is not None
            and same.fact("predictions.the-same", rows=same.event.rows, value=same.event.mean),
            course.fact,
        ),
        (Remedy("output.no-relu"),)
        if last
        else (Remedy("units.revive"), Remedy("learning-rate.lower-tenth")),
        led_to="loss-not-falling",
        ends=False,
    )


def _by_weights(evidence: Evidence, course: Course) -> Finding | None:
    """Without a look at the model: no gradient has reached any kernel but the last, in a whole fit."""
    seen = moved(evidence, "start")
    variables = seen[-1].event.variables if seen else []
    before_last = [one for one in variables if is_kernel(one) and not one["name"].endswith("embeddings")][:-1]
    still = [one for one in before_last if one["change"] == 0]
    relu = [one for one in all_layers(evidence) if one.get("activation") in _CUT_OFF]
    moves = any(one["change"] for one in variables)
    if not relu or not moves or not still or len(still) < len(before_last) or course.learned is not False:
        return None
    values = {"layer": relu[-1].get("name"), "kernels": len(still), "steps": seen[-1].event.step,
              "where": relu[-1].get("where")}  # fmt: skip
    return Finding(
        Strength.SUPPORTED,
        Title("dead-units.no-gradient", values),
        facts(seen[-1].fact("weights.never-moved", **values), course.fact, course.accuracy_fact),
        (Remedy("units.revive"), Remedy("learning-rate.lower-tenth")),
        led_to="loss-not-falling",
        ends=False,
    )


def _norms(look: Recorded[ev.LayersMeasured], layer: Json) -> list[float]:
    """Of the gradients of the layer; of one without weights of its own it is not known."""
    return gradient_norms(look.event, layer["name"]) or [1.0]


def _strength(nothing_passes: bool, learned: bool | None) -> Strength:
    if nothing_passes:
        return Strength.ESTABLISHED
    return Strength.SUPPORTED if learned is False else Strength.POSSIBLE
