"""Gradients shrink by orders of magnitude from the last layer to the first."""

from holdfast.explain.causes.weights.thresholds import DEAD, FEWEST_KERNELS, VANISHED
from holdfast.explain.readings.weights import kernels, looked_at, not_learned
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, facts


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
