"""ReLU units give zero for every input, and no gradient passes them."""

from holdfast.explain.causes.weights.thresholds import DEAD
from holdfast.explain.readings.weights import constant_answers, gradient_norms, looked_at, not_learned
from holdfast.explain.rule import Evidence, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts
from holdfast.journal.events.event import Json


@cause("dead-units", specialises=("loss-not-falling",), mechanism=True)
def dead_units(evidence: Evidence) -> Finding | None:
    look, course = looked_at(evidence), not_learned(evidence)
    if look is None or course is None:
        return None
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


def _norms(look: Recorded[ev.LayersMeasured], layer: Json) -> list[float]:
    """Of the gradients of the layer; of one without weights of its own it is not known."""
    return gradient_norms(look.event, layer["name"]) or [1.0]


def _strength(nothing_passes: bool, learned: bool | None) -> Strength:
    if nothing_passes:
        return Strength.ESTABLISHED
    return Strength.SUPPORTED if learned is False else Strength.POSSIBLE
