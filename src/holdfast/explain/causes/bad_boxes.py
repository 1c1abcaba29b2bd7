"""A box is inverted, empty, outside or not a number, and the loss breaks at it."""

from __future__ import annotations

from holdfast.explain.breaks import grew_before, non_finite
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.words import listed, number
from holdfast.journal import events as ev


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


PAGE = """\
What it is
  A box with xmin > xmax has a negative width, whose logarithm is not a
  number; one of zero area divides by zero; unsigned coordinates wrap around
  at 0 - 1. The loss is NaN at the step that contains the image, and all
  weights after it.

How Holdfast knows
  The loss broke in one step, not over several, weights and inputs were
  finite before, and the batch at which it broke holds such boxes.

How to make it happen
  Swap the corners of one box and train with a loss that takes logarithms of
  widths.

How to cure it
  `holdfast check DATA` names the images. Clip and filter where data is
  read.
      boxes = tf.boolean_mask(boxes, (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))

When Holdfast would be wrong
  If targets of four numbers are not boxes.
"""
