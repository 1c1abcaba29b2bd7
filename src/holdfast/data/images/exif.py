"""EXIF orientation: which frame the boxes are in, and how to move them into the upright one.

A camera stores the image as the sensor saw it and a number that says how to turn it. Some tools draw
boxes on the turned image and some on the stored one, and nothing in the annotation says which.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from holdfast.data.records import Box

Size = tuple[int, int]
ROUNDING_PX = 1.0  # a box may pass the edge by this much through rounding
CARELESS = 0.03  # of a side: boxes drawn by hand pass the edge by as much, and prove no other frame


@dataclass(frozen=True, slots=True)
class CoordinateFrame:
    """Where the boxes are: "upright", "stored", or "unclear"; and what proves it."""

    name: str
    proof: str


def fits(boxes: Iterable[Box], size: Size, careless: float = 0.0) -> bool:
    """No corner is outside the image; corners that are no numbers say nothing either way."""
    width, height = size
    across, down = max(ROUNDING_PX, careless * width), max(ROUNDING_PX, careless * height)
    return all(
        min(box.x1, box.x2) >= -across
        and max(box.x1, box.x2) <= width + across
        and min(box.y1, box.y2) >= -down
        and max(box.y1, box.y2) <= height + down
        for box in boxes
        if all(math.isfinite(corner) for corner in box.corners)
    )


def boxes_frame(
    stored: Size, orientation: int, declared: Size | None, boxes: tuple[Box, ...], known: str = ""
) -> CoordinateFrame:
    """Decide the frame from what fits; boxes far outside a declared size are better evidence than the declaration.

    Turns by 180 degrees and mirror images leave the size as it is, so there nothing can be proved.
    """
    if orientation == 1:
        return CoordinateFrame("upright", "the image is stored upright")
    upright = (stored[1], stored[0]) if orientation >= 5 else stored
    if upright == stored:
        return CoordinateFrame("unclear", "the turned and the stored image have the same size")
    if known:
        return CoordinateFrame(known, f"the boxes are fractions of the {known} image")
    in_upright, in_stored = fits(boxes, upright, CARELESS), fits(boxes, stored, CARELESS)
    if in_upright != in_stored:
        name, size = ("upright", upright) if in_upright else ("stored", stored)
        other = stored if in_upright else upright
        return CoordinateFrame(name, f"the boxes fit {size[0]}x{size[1]} and not {other[0]}x{other[1]}")
    if declared in (upright, stored):
        name = "upright" if declared == upright else "stored"
        return CoordinateFrame(
            name, f"the annotation declares {declared[0]}x{declared[1]}" if declared else ""
        )
    return CoordinateFrame("unclear", "the boxes fit both the turned and the stored image")


def turned_upright(box: Box, stored: Size, orientation: int) -> Box:
    """A box of the stored image, moved to where its object is once the image is turned upright."""
    width, height = stored
    x1, y1, x2, y2 = box.corners
    corners = {
        1: (x1, y1, x2, y2),
        2: (width - x2, y1, width - x1, y2),
        3: (width - x2, height - y2, width - x1, height - y1),
        4: (x1, height - y2, x2, height - y1),
        5: (y1, x1, y2, x2),
        6: (height - y2, x1, height - y1, x2),
        7: (height - y2, width - x2, height - y1, width - x1),
        8: (y1, width - x2, y2, width - x1),
    }[orientation]
    return replace(box, x1=corners[0], y1=corners[1], x2=corners[2], y2=corners[3])
