"""Gradients shrink by orders of magnitude from the last layer to the first."""

from itertools import pairwise

from holdfast.explain.causes.weights.thresholds import DEAD, FEWEST_KERNELS, UNMOVED, VANISHED
from holdfast.explain.readings.course import Course
from holdfast.explain.readings.weights import is_kernel, kernels, layers, looked_at, moved, not_learned
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

#: Normalisations that subtract the mean of each row's last axis.
_BY_ROW = ("LayerNormalization",)
#: Of neighbours in depth, the share that must grow towards the output: single ones stand still by chance.
_GROWING = 0.8
_BOUNDED = ("sigmoid", "tanh", "softmax")


@cause("vanishing-gradients", specialises=("loss-not-falling",), mechanism=True)
def vanishing_gradients(evidence: Evidence) -> Finding | None:
    look, course = looked_at(evidence), not_learned(evidence)
    if course is None or course.learned is None:
        return None
    if look is None:
        return _by_motion(evidence, course)
    by_depth = kernels(look.event)
    dead = any((one.get("zero") or 0.0) >= DEAD for one in look.event.activations)
    if len(by_depth) < FEWEST_KERNELS or dead or not by_depth[-1]["relative"]:
        return None
    first, last = by_depth[0], by_depth[-1]
    alone = _normalises_one_value(look.event) if first["norm"] == 0 else None
    if alone is not None:
        return _blocked(look, alone, course)
    shrunk = first["relative"] / last["relative"]
    if not shrunk <= VANISHED:  # neither is a number where the gradient is none
        return None
    bounded = [one["name"] for one in look.event.activations[:-1] if one.get("activation") in _BOUNDED]
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


def _by_motion(evidence: Evidence, course: Course) -> Finding | None:
    """Where the model could not be looked at, how far its weights moved: by their gradients, as plain descent has it.

    Layers that stand still for another reason do so alone. A gradient that vanishes leaves less and less from layer to
    layer, in the order in which they were made.
    """
    whole = moved(evidence, "start")
    run = _growing_run(whole[-1].event) if whole and course.learned is False else []
    if not run:
        return None
    first, last = run[0], run[-1]
    bounded = [one["name"] for one in layers(evidence) if one.get("activation") in _BOUNDED]
    values = {"first": first[0], "last": last[0], "first_moved": first[1], "last_moved": last[1],
              "times": last[1] / first[1] if first[1] else None, "kernels": len(run)}  # fmt: skip
    return Finding(
        Strength.SUPPORTED,
        Title("vanishing-gradients.by-motion", values),
        facts(
            whole[-1].fact("weights.moved-by-depth", **values),
            bounded and Fact("layers.bounded", {"count": len(bounded), "layers": bounded}, whole[-1].source),
            course.fact,
            course.accuracy_fact,
        ),
        (Remedy("units.use-relu"), Remedy("model.add-normalisation")),
        led_to="loss-not-falling",
        ends=False,
    )


def _growing_run(event: ev.WeightsMoved) -> list[tuple[str, float]]:
    """Layers, and how far each moved against its size: from the one that moved least to the one behind it that moved
    most, where they grow from one to the next. The last layer may have been made first."""
    known = [one for one in event.variables if is_kernel(one) and not one.get("constant_before")]
    ratios = [
        (str(one.get("layer")), one["change"] / one["rms_before"]) for one in known if one.get("rms_before")
    ]
    least = min(range(len(ratios)), key=lambda place: ratios[place][1], default=0)
    ahead = ratios[least:]
    most = max(range(len(ahead)), key=lambda place: ahead[place][1], default=0)
    run = ahead[: most + 1]
    if len(run) <= FEWEST_KERNELS or 2 * len(run) < len(ratios):
        return []
    growing = [later[1] >= earlier[1] for earlier, later in pairwise(run)]
    graded = sum(growing) >= _GROWING * len(growing) and run[-2][1] > VANISHED * run[-1][1]
    return run if graded and run[0][1] <= min(UNMOVED, VANISHED * run[-1][1]) else []


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
