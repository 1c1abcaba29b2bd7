"""Sigmoid or tanh units sit at their limits for every input, where they have no gradient."""

from holdfast.explain.causes.weights.thresholds import SATURATED
from holdfast.explain.readings.weights import RECURRENT, constant_answers, looked_at, not_learned
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, facts

_WITH_LIMITS = ("sigmoid", "tanh", "hard_sigmoid")


@cause("saturated-units", specialises=("loss-not-falling",), mechanism=True)
def saturated_units(evidence: Evidence) -> Finding | None:
    look, course = looked_at(evidence), not_learned(evidence)
    if look is None or course is None or course.learned is None:
        return None
    same = constant_answers(evidence)
    bounded = [
        one
        for one in look.event.activations
        if one.get("activation") in _WITH_LIMITS and one.get("kind") not in RECURRENT
    ]
    last = look.event.activations[-1]
    # A last layer at its limits may be right; one that gives the same for every row is not.
    stuck = [
        one
        for one in bounded
        if (one.get("stuck") or 0.0) >= SATURATED and (one is not last or same is not None)
    ]
    full = [one for one in bounded if (one.get("saturated") or 0.0) >= SATURATED and one is not last]
    if not stuck and not full:
        return None
    worst = (stuck or full)[0]
    values = {
        "layer": worst["name"],
        "activation": worst["activation"],
        "share": worst["stuck"] if stuck else worst["saturated"],
        "every_row": bool(stuck),
        "last": worst is last,
    }
    return Finding(
        Strength.SUPPORTED,
        Title("saturated-units", values),
        facts(
            look.fact("units.saturated", **values, rows=look.event.rows),
            same is not None
            and same.fact("predictions.the-same", rows=same.event.rows, value=same.event.mean),
            course.fact,
        ),
        (Remedy("inputs.standardise"), Remedy("units.use-relu")),
        led_to="loss-not-falling",
        ends=False,
    )
