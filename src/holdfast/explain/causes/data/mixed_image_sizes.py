"""Images of different sizes, or lists of boxes of different lengths, do not go into one batch."""

import re

from holdfast.explain.readings.arrays import Shape, differ_in_channels, shapes_not_batched, unlike_shapes
from holdfast.explain.readings.error import error_quoted, user_line
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, facts

_NOT_STACKED = re.compile(
    r"(?:all input arrays must have the same shape|Shapes of all inputs must match|could not broadcast "
    r"input array from shape \(([\d,]+)\) into shape \(([\d,]+)\)|inhomogeneous shape)"
)
_BOX_NUMBERS = (4, 5)  # of one box, with or without its class


@cause("mixed-image-sizes", specialises=("script-error",))
def mixed_image_sizes(evidence: Evidence) -> Finding | None:
    error, stacked = evidence.error, unlike_shapes(evidence)
    if error is None:
        return None
    batched = shapes_not_batched(error.text)
    if batched is None and not _NOT_STACKED.search(error.text):
        return None
    shapes = batched or ((stacked.usual, stacked.odd) if stacked is not None else None)
    if _are_other_things(error.text, shapes, in_batch=batched is not None):
        return None
    resize = Remedy("images.resize-before-batching", {"shapes_known": shapes is not None})
    batch = next((node for node in evidence.nodes if node.op == "batch" and node.where), None)
    return Finding(
        Strength.established_if(shapes),
        Title("mixed-image-sizes", {"shapes": [list(shape) for shape in shapes or ()]}),
        facts(
            error_quoted(error),
            user_line(evidence),
            stacked is not None and batched is None and stacked.fact,
            batch and Fact("pipeline.batched-at", {"where": batch.where}, batch.source),
        ),
        [Remedy("boxes.pad-batch") if shapes and _are_boxes(*shapes) else resize],
        against=() if shapes else [Fact("arrays.shapes-unknown")],
    )


def _are_other_things(text: str, shapes: tuple[Shape, Shape] | None, *, in_batch: bool) -> bool:
    """Not images of two sizes: sequences of different lengths, other channels, an image and its label."""
    if shapes is None:
        return len({shape.count(",") for shape in re.findall(r"shape = \[([\d,]*)\]", text)}) > 1
    one, other = shapes
    return (in_batch and (len(one) != len(other) or len(one) == 1)) or differ_in_channels(one, other)


def _are_boxes(one: Shape, other: Shape) -> bool:
    return len(one) == len(other) == 2 and one[1] == other[1] and one[1] in _BOX_NUMBERS
