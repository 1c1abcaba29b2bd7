"""Arrays of unlike shapes that were to become one, as the probe found them in the frames of the exception."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact
from holdfast.journal import events as ev

Shape = tuple[int, ...]


def unlike_pieces(evidence: Evidence) -> tuple[Shape, Shape, Fact] | None:
    """The shape that most of them have, that of the first other one, and both in words."""
    for said in reversed(evidence.all(ev.NoteMade)):
        found = said.event.facts.get("pieces")
        if isinstance(found, dict):
            usual, odd = tuple(found["usual"]), tuple(found["odd"])
            words = (
                f"number {found['number']} of {found['of']} has shape {list(odd)}, most have {list(usual)}"
            )
            return usual, odd, Fact(words, said.source)
    return None


def differ_in_channels(one: Shape, other: Shape) -> bool:
    """Equal but for the last side, which is a number of channels. A picture in grey may have no such side at all."""
    if len(one) == len(other):
        return one[:-1] == other[:-1] and one[-1:] != other[-1:] and {*one[-1:], *other[-1:]} <= {1, 2, 3, 4}
    longer, shorter = max(one, other, key=len), min(one, other, key=len)
    return len(longer) == 3 and longer[:-1] == shorter and longer[-1] in (1, 2, 3, 4)
