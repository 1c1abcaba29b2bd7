"""A part of the loss is exactly 0.0 at every step: no anchor matches any object."""

from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_OF_BOXES = ("box", "regress", "reg_", "_reg", "locali", "loc_", "_loc", "iou", "offset")
_LOGS_NEEDED, _STEPS_NEEDED = 3, 5  # a part of a loss may be 0.0 once or twice by chance
_LOGS_TO_BLAME = 5  # and is not, at as many records


@cause("no-positive-anchors", specialises=("loss-not-falling",))
def no_positive_anchors(evidence: Evidence) -> Finding | None:
    points, epochs = evidence.all(ev.LossSeen), evidence.all(ev.EpochDone)
    logs = [one.event.logs for one in points] + [one.event.logs for one in epochs]
    steps = evidence.step or 0
    if len(logs) < _LOGS_NEEDED or steps < _STEPS_NEEDED:
        return None
    parts = [name for name in dict.fromkeys(name for log in logs for name in log) if _is_part(name)]
    zero = [name for name in parts if all(number_of(log[name]) == 0.0 for log in logs if name in log)]
    other = [name for name in parts if name not in zero]
    if not zero or not (other or number_of(logs[-1].get("loss"))):
        return None
    source = points[-1].source if points else epochs[-1].source
    values = {"zero": zero, "other": other, "records": len(logs), "steps": steps}
    of_boxes = [name for name in zero if "regulari" not in name and any(word in name for word in _OF_BOXES)]
    blamed = bool(of_boxes) and len(logs) >= _LOGS_TO_BLAME
    return Finding(
        Strength.supported_if(blamed),
        Title("no-positive-anchors", {"zero": zero}),
        because=[Fact("loss.part-zero", values, source)],
        remedies=[Remedy("anchors.fit"), Remedy("boxes.check-scale", safety="guess")],
        ends=False,
    )


def _is_part(name: str) -> bool:
    if name == "loss" or name.startswith("val_"):
        return False
    return "loss" in name or name.endswith(("_regression", "_classification"))
