"""Sigmoid or tanh units sit at their limits for every input, where they have no gradient."""

from holdfast.explain.causes.weights.thresholds import SATURATED
from holdfast.explain.readings.weights import RECURRENT, constant_answers, looked_at, not_learned
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev, facts
from holdfast.journal.events.event import Json

_WITH_LIMITS = ("sigmoid", "tanh", "hard_sigmoid")


@cause("saturated-units", specialises=("loss-not-falling",), mechanism=True)
def saturated_units(evidence: Evidence) -> Finding | None:
    look, course = looked_at(evidence), not_learned(evidence)
    if look is None or course is None or course.learned is None:
        return None
    same = constant_answers(evidence)
    last = look.event.activations[-1]
    stuck, full = _at_limits(look.event, same is not None)
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


def _at_limits(look: ev.LayersMeasured, one_answer: bool) -> tuple[list[Json], list[Json]]:
    """Layers whose units give the same limit for every row, and those whose values are at one of them.

    A last layer at its limits may be right; one that gives the same for every row is not.
    """
    last = look.activations[-1]
    bounded = [
        one
        for one in look.activations
        if one.get("activation") in _WITH_LIMITS and one.get("kind") not in RECURRENT
    ]
    stuck = [
        one for one in bounded if (one.get("stuck") or 0.0) >= SATURATED and (one is not last or one_answer)
    ]
    full = [one for one in bounded if (one.get("saturated") or 0.0) >= SATURATED and one is not last]
    return stuck, full
