"""Images of different sizes, or lists of boxes of different lengths, do not go into one batch."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.explain.readings.arrays import Shape, differ_in_channels, shapes_not_batched, unlike_shapes
from holdfast.explain.readings.error import Raised, error_quoted, user_line
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_NOT_STACKED = re.compile(
    r"(?:all input arrays must have the same shape|Shapes of all inputs must match|could not broadcast "
    r"input array from shape \(([\d,]+)\) into shape \(([\d,]+)\)|inhomogeneous shape)"
)
_BOX_NUMBERS = (4, 5)  # of one box, with or without its class


class _Unlike(NamedTuple):
    """What could not be stacked; the shapes are None where the error does not name them."""

    shapes: tuple[Shape, Shape] | None
    facts: tuple[Fact, ...] = ()

    @property
    def boxes(self) -> bool:
        if self.shapes is None:
            return False
        one, other = self.shapes
        return len(one) == len(other) == 2 and one[1] == other[1] and one[1] in _BOX_NUMBERS


@cause("mixed-image-sizes", specialises=("script-error",))
def mixed_image_sizes(evidence: Evidence) -> Finding | None:
    error = evidence.error
    unlike = _unlike(evidence, error) if error is not None else None
    if error is None or unlike is None:
        return None
    known = unlike.shapes is not None
    resize = Remedy("images.resize-before-batching", {"shapes_known": known})
    return Finding(
        Strength.ESTABLISHED if known else Strength.SUPPORTED,
        Title("mixed-image-sizes", {"shapes": [list(shape) for shape in unlike.shapes or ()]}),
        because=[error_quoted(error), *user_line(evidence), *unlike.facts, *_batched_at(evidence)],
        against=() if known else [Fact("arrays.shapes-unknown")],
        remedies=[Remedy("boxes.pad-batch") if unlike.boxes else resize],
    )


def _unlike(evidence: Evidence, error: Raised) -> _Unlike | None:
    batched, stacked = shapes_not_batched(error.text), unlike_shapes(evidence)
    if batched is not None:
        one, other = batched
        if len(one) != len(other) or len(one) == 1:  # sequences of different lengths, not images
            return None
        return None if differ_in_channels(one, other) else _Unlike(batched)
    if not _NOT_STACKED.search(error.text):
        return None
    if stacked is not None:
        shapes = stacked.usual, stacked.odd
        return None if differ_in_channels(*shapes) else _Unlike(shapes, (stacked.fact,))
    ranks = {shape.count(",") for shape in re.findall(r"shape = \[([\d,]*)\]", error.text)}
    return None if len(ranks) > 1 else _Unlike(None)  # of two ranks: an image and its label, not two sizes


def _batched_at(evidence: Evidence) -> list[Fact]:
    batch = next((node for node in evidence.nodes if node.op == "batch"), None)
    if batch is None or not batch.where:
        return []
    return [Fact("pipeline.batched-at", {"where": batch.where}, batch.source)]
