"""A box is inverted, empty, outside or not a number, and the loss breaks at it."""

from __future__ import annotations

from typing import Any

from holdfast.explain.readings.error import Raised, error_quoted
from holdfast.explain.readings.numerics import became_non_finite, grew_before, non_finite
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

#: What the probe counts in a batch of boxes.
_FAULTS = ("inverted", "zero_area", "outside", "not_finite", "wrapped")


@cause(
    "bad-boxes",
    specialises=("script-error", "loss-not-finite", "input-not-finite", "loss-not-falling"),
)
def bad_boxes(evidence: Evidence) -> Finding | None:
    broken, boxes = non_finite(evidence), _boxes(evidence)
    if boxes is None or (broken is None and evidence.error is None):
        return None
    if broken is None and evidence.error is not None and boxes.kind == "boxes.faulty-in-records":
        return _failed_check(evidence.error, boxes)
    facts, against = [boxes], []
    if broken is not None:
        facts.append(became_non_finite(broken))
        if broken.event.weights_finite_before:
            facts.append(Fact("weights.finite-before", {}, broken.source))
        if grew_before(broken):
            against.append(Fact("loss.grew-before-it-broke", {}, broken.source))
    return Finding(
        Strength.POSSIBLE if against else Strength.SUPPORTED,
        Title("bad-boxes", boxes.values),
        because=facts,
        against=against,
        remedies=[Remedy("boxes.find", safety="automatic"), Remedy("boxes.clip-and-drop")],
        led_to="loss-not-finite" if broken is not None else None,
        ends=False,
    )


def _failed_check(error: Raised, boxes: Fact) -> Finding:
    """The program checked the boxes itself, and its error does not say that they are boxes."""
    return Finding(
        Strength.ESTABLISHED if boxes.values["in_error"] else Strength.SUPPORTED,
        Title("bad-boxes.records", boxes.values),
        because=[boxes, error_quoted(error)],
        remedies=[Remedy("boxes.find", safety="automatic"), Remedy("boxes.clip-and-drop")],
    )


def _boxes(evidence: Evidence) -> Fact | None:
    """What is wrong with the boxes of the batch at which it broke, else of the data read once more after the end."""
    for seen in reversed(evidence.all(ev.NonFiniteSeen)):
        if values := _faults(seen.event.detail.get("boxes")):
            return Fact("boxes.faulty", {**values, "batch": None}, seen.source)
    for batch in reversed(evidence.all(ev.BatchSeen)):
        for part in batch.event.parts:
            if values := _faults(part.get("boxes")):
                if part.get("found") == "records":
                    boxes = part["boxes"]
                    records = {
                        "path": part.get("path"),
                        "edges": boxes["edges"],
                        "in_error": boxes["in_error"],
                    }
                    return Fact("boxes.faulty-in-records", {**values, **records}, batch.source)
                later = batch.event.step if part.get("found") == "afterwards" else None
                return Fact("boxes.faulty", {**values, "batch": later}, batch.source)
    return None


def _faults(found: object) -> dict[str, Any] | None:
    if not isinstance(found, dict):
        return None
    counts = {name: found[name] for name in _FAULTS if isinstance(found.get(name), int) and found[name] > 0}
    rows = found.get("images") or found.get("rows")
    values = {"counts": counts, "rows": rows if isinstance(rows, list) else [], "first": found.get("first")}
    return values if counts else None
