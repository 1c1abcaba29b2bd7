"""Gradients shrink by orders of magnitude from the last layer to the first."""

from holdfast.explain.causes.weights.thresholds import DEAD, FEWEST_KERNELS, VANISHED
from holdfast.explain.readings.course import Course
from holdfast.explain.readings.weights import kernels, looked_at, not_learned
from holdfast.explain.rule import Evidence, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

#: Normalisations that subtract the mean of each row's last axis.
_BY_ROW = ("LayerNormalization",)


@cause("vanishing-gradients", specialises=("loss-not-falling",), mechanism=True)
def vanishing_gradients(evidence: Evidence) -> Finding | None:
    look, course = looked_at(evidence), not_learned(evidence)
    if look is None or course is None or course.learned is None:
        return None
    by_depth = kernels(look.event)
    dead = any((one.get("zero") or 0.0) >= DEAD for one in look.event.activations)
    if len(by_depth) < FEWEST_KERNELS or dead or not by_depth[-1]["relative"]:
        return None
    first, last = by_depth[0], by_depth[-1]
    alone = _normalises_one_value(look.event) if first["norm"] == 0 else None
    if alone is not None:
        return _blocked(look, alone, course)
    shrunk = first["relative"] / last["relative"]
    if shrunk > VANISHED:
        return None
    bounded = [
        one["name"]
        for one in look.event.activations[:-1]
        if one.get("activation") in ("sigmoid", "tanh", "softmax")
    ]
    values = {
        "first": first["layer"],
        "last": last["layer"],
        "first_norm": first["norm"],
        "last_norm": last["norm"],
        "times": 1 / shrunk if shrunk else None,
        "kernels": len(by_depth),
    }
    return Finding(
        Strength.SUPPORTED,
        Title("vanishing-gradients", values),
        facts(
            look.fact("gradient.by-depth", **values),
            bounded and look.fact("layers.bounded", count=len(bounded), layers=bounded),
            course.fact,
        ),
        (Remedy("units.use-relu"), Remedy("model.add-normalisation")),
        led_to="loss-not-falling",
        ends=False,
    )


def _normalises_one_value(look: ev.LayersMeasured) -> str | None:
    """The mean of one value is the value: what is left of it is 0, whatever it was."""
    found = (one["name"] for one in look.activations if one.get("kind") in _BY_ROW and one.get("units") == 1)
    return next(found, None)


def _blocked(look: Recorded[ev.LayersMeasured], layer: str, course: Course) -> Finding:
    without = [one["layer"] for one in kernels(look.event) if one["norm"] == 0]
    values = {"layer": layer, "layers": without, "kernels": len(without)}
    return Finding(
        Strength.SUPPORTED,
        Title("vanishing-gradients.normalised-alone", values),
        facts(look.fact("gradient.zero-at", **values), course.fact, course.accuracy_fact),
        [Remedy("norm.over-more-values")],
        led_to="loss-not-falling",
        ends=False,
    )
