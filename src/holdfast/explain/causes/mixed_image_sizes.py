"""Images of different sizes cannot be put into one batch."""

from __future__ import annotations

import re

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.grounds import users_line
from holdfast.explain.words import clipped


def mixed_image_sizes(evidence: Evidence) -> Finding | None:
    error = evidence.error
    if error is None:
        return None
    pair = re.search(
        r"Cannot (?:add tensor to the batch|batch tensors).*?\[([\d,]+)\].*?\[([\d,]+)\]", error.text, re.S
    )
    stacked = re.search(
        r"(?:all input arrays must have the same shape|Shapes of all inputs must match|could not broadcast "
        r"input array from shape \(([\d,]+)\) into shape \(([\d,]+)\)|inhomogeneous shape)",
        error.text,
    )
    if pair:
        a, b = pair[1].split(","), pair[2].split(",")
        if len(a) != len(b):
            return None
        if a[:-1] == b[:-1] and len(a) == len(b) and {a[-1], b[-1]} <= {"1", "2", "3", "4"}:
            return None
        boxes = len(a) == len(b) == 2 and a[1] == b[1] and a[1] in ("4", "5")
        what = f"elements of shape [{pair[1]}] and [{pair[2]}] do not go into one batch"
    elif stacked:
        ranks = {shape.count(",") for shape in re.findall(r"shape = \[([\d,]*)\]", error.text)}
        if len(ranks) > 1:  # a picture and its label, say: not pictures of two sizes
            return None
        boxes, what = False, "images of different sizes do not go into one batch"
    else:
        return None
    facts = [Fact(clipped(f"{error.type}: {error.essence}", 200), error.source), *users_line(evidence)]
    batch = next((node for node in evidence.nodes if node.op == "batch"), None)
    if batch is not None and batch.where:
        facts.append(Fact(f"batched at {batch.where}", batch.source))
    cure = (
        Remedy("pad the boxes of a batch to the same number", "your-choice", "ds = ds.padded_batch(8)")
        if boxes
        else Remedy(
            "bring every image to one size before batching",
            "your-choice",
            "image = tf.image.resize_with_pad(image, 512, 512)",
        )
    )
    return Finding(
        "mixed-image-sizes",
        Strength.ESTABLISHED if pair else Strength.SUPPORTED,
        what,
        tuple(facts),
        (),
        (cure,),
    )


PAGE = """\
What it is
  `batch` stacks elements and needs equal shapes. Pictures of different
  sizes, or lists of boxes of different lengths, do not stack.

How Holdfast knows
  The exception of `batch` names both shapes.

How to make it happen
  `ds.map(decode).batch(8)` over pictures of different sizes.

How to cure it
  Resize before batching; pad boxes.
      ds = ds.map(lambda i, b: (tf.image.resize_with_pad(i, 512, 512), b)).padded_batch(8)

When Holdfast would be wrong
  If one file is the exception and was meant to have the size of the others.
"""
