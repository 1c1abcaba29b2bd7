"""A box is inverted, empty, outside or not a number, and the loss breaks at it."""

from typing import Any

from holdfast.explain.readings.error import ErrorText, error_quoted
from holdfast.explain.readings.numerics import (
    became_non_finite,
    grew_before,
    made_by_a_function,
    non_finite,
    weights_finite_before,
)
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

#: What the probe counts in a batch of boxes.
_FAULTS = ("inverted", "zero_area", "outside", "not_finite", "wrapped")

#: The checks of torchvision, Albumentations and the YOLO programs.
_REFUSED = ErrorText(
    r"bounding boxes should have positive height and width|Expected [xy]_(?:min|max) for bbox .* to be in the range|"
    r"[xy]_max is less than or equal to [xy]_min for bbox|non-normalized or out of bounds coordinate|"
    r"boxes1? must have .*x2 >= x1|Expected target boxes to be a tensor of shape"
)


@cause("bad-boxes", specialises=("script-error", "loss-not-finite", "input-not-finite", "loss-not-falling"))
def bad_boxes(evidence: Evidence) -> Finding | None:
    broken, boxes = non_finite(evidence), _boxes(evidence)
    if boxes is None or (broken is None and evidence.error is None):
        return _refused(evidence)
    if boxes.kind == "boxes.faulty-stored" and not made_by_a_function(evidence):
        return None
    remedies = (Remedy("boxes.find", safety="automatic"), Remedy("boxes.clip-and-drop"))
    if broken is None and evidence.error is not None and boxes.kind == "boxes.faulty-in-records":
        # The program checked the boxes itself, and its error does not say that they are boxes.
        sure = Strength.established_if(boxes.values["in_error"])
        return Finding(
            sure, Title("bad-boxes.records", boxes.values), [boxes, error_quoted(evidence.error)], remedies
        )
    grew = broken and grew_before(broken) and broken.fact("loss.grew-before-it-broke")
    stored = boxes.kind == "boxes.faulty-stored"
    return Finding(
        Strength.POSSIBLE if grew else Strength.SUPPORTED,
        Title("bad-boxes", {**boxes.values, "rows": []} if stored else boxes.values),
        facts(
            boxes,
            stored and made_by_a_function(evidence),
            became_non_finite(broken),
            weights_finite_before(broken),
        ),
        remedies,
        against=facts(grew),
        led_to="loss-not-finite" if broken is not None else None,
        ends=False,
    )


def _refused(evidence: Evidence) -> Finding | None:
    """A library has checked the boxes that it was given."""
    quote = _REFUSED.match(evidence)
    if quote is None or evidence.error is None:
        return None
    remedies = (Remedy("boxes.find", safety="automatic"), Remedy("boxes.clip-and-drop"))
    return Finding(Strength.ESTABLISHED, Title("bad-boxes.refused"), quote.facts, remedies)


def _boxes(evidence: Evidence) -> Fact | None:
    """What is wrong with the boxes of the batch at which it broke, else of the data read once more after the end."""
    for seen in reversed(evidence.all(ev.NonFiniteSeen)):
        if values := _faults(seen.event.detail.get("boxes")):
            return seen.fact("boxes.faulty", **values, batch=None)
    for batch in reversed(evidence.all(ev.BatchSeen)):
        for part in batch.event.parts:
            if values := _faults(part.get("boxes")):
                if part.get("found") == "records":
                    records = {name: part["boxes"][name] for name in ("edges", "in_error")}
                    return batch.fact("boxes.faulty-in-records", **values, path=part.get("path"), **records)
                if part.get("found") == "stored":
                    return batch.fact("boxes.faulty-stored", **values, path=part.get("path"))
                later = batch.event.step if part.get("found") == "afterwards" else None
                return batch.fact("boxes.faulty", **values, batch=later)
    return None


def _faults(found: object) -> dict[str, Any] | None:
    if not isinstance(found, dict):
        return None
    counts = {name: found[name] for name in _FAULTS if isinstance(found.get(name), int) and found[name] > 0}
    rows = found.get("images") or found.get("rows")
    values = {"counts": counts, "rows": rows if isinstance(rows, list) else [], "first": found.get("first")}
    return values if counts else None
