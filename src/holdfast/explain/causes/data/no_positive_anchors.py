"""A part of the loss is exactly 0.0 at every step: no anchor matches any object."""

import re

from holdfast.explain.causes.learning import detector_course as detection
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts
from holdfast.explain.validations import learned_nothing

_OF_BOXES = ("box", "regress", "reg_", "_reg", "locali", "loc_", "_loc", "iou", "offset")
_MEASURES = re.compile(r"acc|recall|precision|auc|iou|f1|map|score|learning_rate|lr")
_LOGS_NEEDED, _STEPS_NEEDED = 3, 5  # a part of a loss may be 0.0 once or twice by chance
_LOGS_TO_BLAME = 5  # and is not, at as many records
#: Share of the boxes that no anchor overlaps by half: above the first it is said, above the second it is blamed.
_MANY_UNCOVERED, _MOST_UNCOVERED = 0.6, 0.8
_BATCHES_TO_BLAME = 10  # without an object in any


@cause("no-positive-anchors", specialises=("loss-not-falling",))
def no_positive_anchors(evidence: Evidence) -> Finding | None:
    return _by_loss(evidence) or _by_overlaps(evidence)


def _by_overlaps(evidence: Evidence) -> Finding | None:
    """A run of our own trainer, which compares the anchors with the boxes before the first step."""
    compared, nothing = evidence.last(ev.AnchorsCompared), learned_nothing(evidence)
    if compared is None or nothing is None or not compared.event.boxes:
        return None
    event, share = compared.event, compared.event.uncovered / compared.event.boxes
    if share < _MANY_UNCOVERED:
        return None
    classes = [name for name, part in event.by_class.items() if part >= share]
    values = {"share": share, "input": event.input, "side": event.median_side, "classes": classes}
    return Finding(
        Strength.supported_if(share >= _MOST_UNCOVERED),
        Title("no-positive-anchors.uncovered", values),
        facts(compared.fact("anchors.compared", **values, boxes=event.boxes, fitted=event.fitted), nothing),
        [
            Remedy("anchors.larger-input", {"input": 2 * event.input}),
            *([] if event.fitted else [Remedy("anchors.fit-to-data")]),
        ],
        led_to="loss-not-falling",
        ends=False,
    )


def _by_loss(evidence: Evidence) -> Finding | None:
    points, epochs = evidence.all(ev.LossSeen), evidence.all(ev.EpochDone)
    logs = [one.event.logs for one in points] + [one.event.logs for one in epochs]
    steps = evidence.step or 0
    if len(logs) < _LOGS_NEEDED or steps < _STEPS_NEEDED:
        return None
    empty, terms = detection.without_objects(evidence), detection.terms(evidence)
    named = [name for name in dict.fromkeys(name for log in logs for name in log) if _is_number_of_loss(name)]
    known = {one.event.term for one in evidence.all(ev.OutputSeen)}  # by what the loss is put together from
    parts = [name for name in named if empty is not None or name in known or _is_part(name)]
    zero = [name for name in parts if all(number_of(log[name]) == 0.0 for log in logs if name in log)]
    other = [name for name in parts if name not in zero]
    if not zero or not (other or any(number_of(log.get("loss")) for log in logs)):
        return _by_targets(evidence, empty)
    source = points[-1].source if points else epochs[-1].source
    values = {"zero": zero, "other": other, "records": len(logs), "steps": steps}
    by_name = [name for name in zero if "regulari" not in name and any(word in name for word in _OF_BOXES)]
    of_boxes = [name for name in zero if terms.get(name) or name in by_name]
    no_rows = _without_rows(evidence, zero)
    known_empty = empty is not None or no_rows is not None
    blamed = (bool(of_boxes) or known_empty) and len(logs) >= _LOGS_TO_BLAME
    return Finding(
        Strength.supported_if(blamed),
        Title("no-positive-anchors", {"zero": zero}),
        because=facts(Fact("loss.part-zero", values, source), no_rows, empty),
        remedies=[Remedy("anchors.fit"), Remedy("boxes.check-scale", safety="guess")],
        ends=False,
    )


def _by_targets(evidence: Evidence, empty: Fact | None) -> Finding | None:
    """Boxes that are all zeros in every batch, and are compared: a loop that does not show the parts of its loss."""
    seen = detection.targets(evidence)
    if seen is None or empty is None or seen.event.batches < _BATCHES_TO_BLAME:
        return None
    no_boxes = len(seen.event.rates) == detection.BOX_UNITS and not any(seen.event.rates)
    compared = any(
        one.event.units == detection.BOX_UNITS and not detection.is_crossed(one)
        for one in detection.outputs_seen(evidence)
    )
    if not (no_boxes and compared):
        return None
    title = Title("no-positive-anchors.targets", {"batches": seen.event.batches})
    remedies = [Remedy("anchors.fit"), Remedy("boxes.check-scale", safety="guess")]
    return Finding(Strength.SUPPORTED, title, [empty], remedies, ends=False)


def _without_rows(evidence: Evidence, names: list[str]) -> Fact | None:
    """One of these terms compares no row at all: what is chosen for it by a mask is empty."""
    for one in evidence.all(ev.OutputSeen):
        shape = one.event.prediction_shape
        if one.event.term in names and shape and shape[0] == 0:
            return one.fact("loss.part-without-rows", name=one.event.term, where=one.event.loss_where)
    return None


def _is_number_of_loss(name: str) -> bool:
    """A number that is minimised, perhaps: an accuracy is not."""
    return name != "loss" and not name.startswith("val_") and not _MEASURES.search(name)


def _is_part(name: str) -> bool:
    return "loss" in name or name.endswith(("_regression", "_classification"))
