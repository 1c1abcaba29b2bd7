"""Arrays of unlike shapes that were to become one, as the probe found them in the frames of the exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.explain.finding import Fact
from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence

Shape = tuple[int, ...]
#: Grey, grey with alpha, RGB, RGB with alpha; and the sides of one image: height, width, channels.
_CHANNELS, _IMAGE_RANK = {1, 2, 3, 4}, 3


class UnlikeShapes(NamedTuple):
    usual: Shape  # that most of them have
    odd: Shape  # of the first other one
    fact: Fact


def unlike_shapes(evidence: Evidence) -> UnlikeShapes | None:
    """Of the arrays that the exception's frames held."""
    for said in reversed(evidence.all(ev.ArrayShapesDiffered)):
        one = said.event
        values = {"number": one.index, "of": one.total, "odd": one.odd, "usual": one.usual}
        return UnlikeShapes(tuple(one.usual), tuple(one.odd), Fact("arrays.unlike", values, said.source))
    return None


def differ_in_channels(one: Shape, other: Shape) -> bool:
    """Equal but for the last side, which is a number of channels. A grey image may have no such side at all."""
    if len(one) == len(other):
        return one[:-1] == other[:-1] and one[-1:] != other[-1:] and {*one[-1:], *other[-1:]} <= _CHANNELS
    longer, shorter = max(one, other, key=len), min(one, other, key=len)
    return len(longer) == _IMAGE_RANK and longer[:-1] == shorter and longer[-1] in _CHANNELS
