"""All units of a layer began with the same weights, and still have them: they compute the same."""

from holdfast.explain.readings.course import Course, course
from holdfast.explain.readings.weights import is_kernel, moved
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev, facts
from holdfast.journal.events.event import Json

#: Share of the loss of a constant answer above which little was learned. Chosen.
_POOR = 0.5


@cause("constant-initialisation", specialises=("loss-not-falling",))
def constant_initialisation(evidence: Evidence) -> Finding | None:
    seen, training = moved(evidence, "start"), course(evidence)
    if not seen or training is None:
        return None
    equal = [one for one in seen[-1].event.variables if _stayed_equal(one)]
    if not equal:
        return None
    first = equal[0]
    still = first.get("change") == 0
    values = {
        "layer": _name(first),
        "layers": [_name(one) for one in equal],
        "zeros": not first.get("rms_before"),
        "still": still,
        "steps": seen[-1].event.step,
        "where": _line(evidence, str(first.get("layer"))),
    }
    return Finding(
        _strength(still, training),
        Title("constant-initialisation", values),
        facts(seen[-1].fact("units.equal", **values), training.fact, training.accuracy_fact),
        [Remedy("initializer.random")],
        led_to="loss-not-falling",
        ends=False,
    )


def _strength(still: bool, training: Course) -> Strength:
    """Units that move together are one unit, which may be enough for the task; ones that do not move may be unused."""
    if training.learned is not True:
        return Strength.ESTABLISHED
    poor = training.constant is not None and training.last > _POOR * training.constant
    return Strength.SUPPORTED if poor and not still else Strength.POSSIBLE


def _name(variable: Json) -> str:
    """Of its layer; a variable of a loop has a name of its own, or none."""
    return str(variable.get("layer") or variable.get("name") or "one layer")


def _stayed_equal(variable: Json) -> bool:
    return is_kernel(variable) and bool(variable.get("equal_units") and variable.get("equal_units_before"))


def _line(evidence: Evidence, layer: str) -> str:
    listed = [
        one for seen in evidence.all(ev.LayersSeen) for one in seen.event.layers if one.get("name") == layer
    ]
    return str(listed[-1].get("where") or "") if listed else ""
