"""Arrays of unlike shapes that were to become one, as the probe found them in the frames of the exception."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.journal import events as ev

Shape = tuple[int, ...]
#: What `batch` of tf.data and torch's default collation raise: the new element's shape and that of those before it.
_NOT_BATCHED = re.compile(
    r"(?:Cannot (?:add tensor to the batch|batch tensors)|stack expects each tensor to be equal size)"
    r".*?\[([\d, ]+)\].*?\[([\d, ]+)\]",
    re.DOTALL,
)
#: Grey, grey with alpha, RGB, RGB with alpha; and the dimensions of one image: height, width, channels.
CHANNELS, _IMAGE_RANK = (1, 2, 3, 4), 3


class UnlikeShapes(NamedTuple):
    usual: Shape  # that most of them have
    odd: Shape  # of the first other one
    fact: Fact


def unlike_shapes(evidence: Evidence) -> UnlikeShapes | None:
    """Of the arrays that the exception's frames held."""
    seen = evidence.last(ev.ArrayShapesDiffered)
    if seen is None:
        return None
    one = seen.event
    fact = seen.fact("arrays.unlike", number=one.index, of=one.total, odd=one.odd, usual=one.usual)
    return UnlikeShapes(tuple(one.usual), tuple(one.odd), fact)


def shapes_not_batched(error_text: str) -> tuple[Shape, Shape] | None:
    """The two shapes that tf.data's `batch` could not put into one batch: the element's, then the batch's."""
    found = _NOT_BATCHED.search(error_text)
    return (_shape(found[1]), _shape(found[2])) if found else None


def _shape(text: str) -> Shape:
    return tuple(int(side) for side in text.split(",") if side)


def differ_in_channels(one: Shape, other: Shape) -> bool:
    """Equal but for the number of channels, the last dimension or torch's first. A grey image may have none."""
    if len(one) == len(other):
        last = one[:-1] == other[:-1] and one[-1:] != other[-1:] and {*one[-1:], *other[-1:]} <= {*CHANNELS}
        first = one[1:] == other[1:] and one[:1] != other[:1] and {*one[:1], *other[:1]} <= {*CHANNELS}
        return last or (first and len(one) == _IMAGE_RANK)
    longer, shorter = max(one, other, key=len), min(one, other, key=len)
    return len(longer) == _IMAGE_RANK and longer[:-1] == shorter and longer[-1] in CHANNELS
