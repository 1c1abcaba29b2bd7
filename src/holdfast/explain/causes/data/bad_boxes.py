"""A box is inverted, empty, outside or not a number, and the loss breaks at it."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numerics import grew_before, non_finite
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import listed, number
from holdfast.journal import events as ev


@cause(
    "bad-boxes",
    Group.DATA,
    specialises=(
        "script-error",
        "loss-not-finite",
        "input-not-finite",
        "loss-not-falling",
    ),
)
def bad_boxes(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    boxes, place, source = _boxes(evidence)
    if broken is None and not (boxes and evidence.error is not None):
        return None
    if not boxes:
        return None
    facts = [Fact(f"{place}: {boxes}", source)]
    jump = True
    if broken is not None:
        event = broken.event
        jump = not grew_before(broken)
        facts.append(
            Fact(
                f"the {event.what} became {event.value} at step {event.step:,} in one step"
                + (f"; it was {number(event.last_finite)} before" if event.last_finite is not None else ""),
                broken.source,
            )
        )
        if event.weights_finite_before:
            facts.append(Fact("the weights were finite before that step", broken.source))
    return Finding(
        "bad-boxes",
        Strength.SUPPORTED if jump else Strength.POSSIBLE,
        f"bad boxes broke the loss: {boxes}",
        tuple(facts),
        ()
        if jump
        else (
            Fact(
                "the loss grew over several steps before it broke, as a learning rate makes it",
                broken.source if broken else "",
            ),
        ),
        (
            Remedy(
                "find them: `holdfast check DATA` names the image of every inverted, empty or outside box",
                "automatic",
            ),
            Remedy("clip and drop when reading", "your-choice", "keep = (x2 > x1) & (y2 > y1)"),
        ),
        led_to="loss-not-finite" if broken is not None else None,
        ends=False,
    )


def _boxes(evidence: Evidence) -> tuple[str, str, str]:
    """What is wrong with the boxes of the batch that a failure points at, where they are, and the source."""
    at_it = "in the batch at which it broke"
    for said in reversed(evidence.all(ev.NonFiniteSeen)):
        words = _faults(said.event.detail.get("boxes"))
        if words:
            return words, at_it, said.source
    for batch in reversed(evidence.all(ev.BatchSeen)):
        for part in batch.event.parts:
            words = _faults(part.get("boxes"))
            if words:
                again = f"in batch {batch.event.step:,} of the data, gone through once more"
                return words, again if part.get("found") == "afterwards" else at_it, batch.source
    return "", "", ""


def _faults(found: object) -> str:
    if not isinstance(found, dict):
        return ""
    names = (
        ("inverted", "inverted"),
        ("zero_area", "of zero area"),
        ("outside", "outside the image"),
        ("not_finite", "not finite"),
        ("wrapped", "wrapped around"),
    )
    counts = [
        f"{found[key]} {word}" for key, word in names if isinstance(found.get(key), int) and found[key] > 0
    ]
    where = found.get("images") or found.get("rows")
    rows = (
        f" (row {listed([str(row) for row in where], 4)} of the batch)"
        if isinstance(where, list) and where and counts
        else ""
    )
    first = f", such as {found['first']}" if counts and found.get("first") else ""
    return f"boxes {', '.join(counts)}{rows}{first}" if counts else ""
