"""Images of different sizes cannot be put into one batch."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.arrays import differ_in_channels
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, unlike_pieces, users_line
from holdfast.explain.words import clipped


@cause("mixed-image-sizes", Group.DATA, specialises=("script-error",))
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
    pieces: Fact | None = None
    if pair:
        a, b = pair[1].split(","), pair[2].split(",")
        if len(a) != len(b) or len(a) == 1:  # sequences of different lengths are no pictures
            return None
        if a[:-1] == b[:-1] and len(a) == len(b) and {a[-1], b[-1]} <= {"1", "2", "3", "4"}:
            return None
        boxes = len(a) == len(b) == 2 and a[1] == b[1] and a[1] in ("4", "5")
        what = f"elements of shape [{pair[1]}] and [{pair[2]}] do not go into one batch"
    elif stacked and (shapes := unlike_pieces(evidence)) is not None:
        if differ_in_channels(*shapes[:2]):
            return None
        boxes = (
            len(shapes[0]) == len(shapes[1]) == 2 and shapes[0][1] == shapes[1][1] and shapes[0][1] in (4, 5)
        )
        what = f"arrays of shape {list(shapes[0])} and {list(shapes[1])} do not go into one batch"
        pieces = shapes[2]
    elif stacked:
        ranks = {shape.count(",") for shape in re.findall(r"shape = \[([\d,]*)\]", error.text)}
        if len(ranks) > 1:  # a picture and its label, say: not pictures of two sizes
            return None
        boxes, what = False, "arrays of different shapes do not go into one batch"
    else:
        return None
    facts = [Fact(clipped(f"{error.type}: {error.essence}", 200), error.source), *users_line(evidence)]
    facts += [pieces] if pieces is not None else []
    batch = next((node for node in evidence.nodes if node.op == "batch"), None)
    if batch is not None and batch.where:
        facts.append(Fact(f"batched at {batch.where}", batch.source))
    cure = (
        Remedy("pad the boxes of a batch to the same number", "your-choice", "ds = ds.padded_batch(8)")
        if boxes
        else Remedy(
            "bring every image to one size"
            + ("" if pair or pieces else " and one number of channels")
            + " before batching",
            "your-choice",
            "image = tf.image.resize_with_pad(image, 512, 512)",
        )
    )
    return Finding(
        "mixed-image-sizes",
        Strength.ESTABLISHED if pair or pieces else Strength.SUPPORTED,
        what,
        tuple(facts),
        ()
        if pair or pieces
        else (Fact("which shapes they had was not said: their channels may differ too"),),
        (cure,),
    )
