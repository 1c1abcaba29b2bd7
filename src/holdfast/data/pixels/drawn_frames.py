"""Boxes that are drawn into the images: a line of one bright colour lies exactly on each annotated box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.data.dataset_reader import Problem

if TYPE_CHECKING:
    from holdfast.data.pixels.look_sample import CloseLook

FEWEST_BOXES = 12
FEWEST_IMAGES = 8
MOST = 0.8  # of the boxes have a line, or more
REACH = 4  # pixels to either side of the box in which the line may lie
COLOURFUL = 110  # of 255: the largest minus the smallest channel of a colour that is chosen to be seen
STRANGER = 60  # of 255: how far the line's colour is from the image on both sides of it
SHARE = 0.75  # of the points of a side have the line's colour
POINTS = 32  # of a side


def frame_colours(pixels: Any, boxes: Any) -> Any:
    """For each box (as fractions of the image) whether a line lies on it, and the line's red, green and blue."""
    import numpy as np

    height, width = pixels.shape[:2]
    found = np.zeros((len(boxes), 4), np.float32)
    for at, (x1, y1, x2, y2) in enumerate(boxes * np.array([width, height] * 2)):
        if x2 - x1 < 4 * REACH or y2 - y1 < 4 * REACH:
            continue
        sides = [
            colour
            for place, start, end, upright in (
                (x1, y1, y2, True),
                (x2, y1, y2, True),
                (y1, x1, x2, False),
                (y2, x1, x2, False),
            )
            if (colour := _line(pixels, place, start, end, upright)) is not None
        ]
        if len(sides) >= 3:
            colour = np.median(sides, axis=0)
            alike = sum(np.abs(side - colour).max() < STRANGER for side in sides)
            found[at] = (float(alike >= 3), *colour)
    return found


def _line(pixels: Any, place: float, start: float, end: float, upright: bool) -> Any:
    """The colour of a line near `place`, across or down; None where there is none."""
    import numpy as np

    turned = pixels.transpose(1, 0, 2) if upright else pixels
    rows = np.arange(round(place) - 2 * REACH, round(place) + 2 * REACH + 1)
    columns = np.linspace(start + 2, end - 3, POINTS).round().astype(int)
    if rows[0] < 0 or rows[-1] >= len(turned) or columns[0] < 0 or columns[-1] >= turned.shape[1]:
        return None
    strip = turned[rows[:, None], columns[None]].astype(np.float32)  # (17, points, 3)
    middle = np.median(strip, axis=1)
    colourful = middle.max(axis=1) - middle.min(axis=1)
    near = slice(REACH, -REACH)
    row = int(colourful[near].argmax()) + REACH
    colour = middle[row]
    same = (np.abs(strip - colour).max(axis=2) < STRANGER).mean(axis=1)
    if colourful[row] < COLOURFUL or same[row] < SHARE:
        return None
    return colour if same[0] < 0.3 and same[-1] < 0.3 else None


def problems(looks: Sequence[CloseLook], path: str) -> Iterator[Problem]:
    """Say so when nearly all boxes have such a line."""
    import numpy as np

    framed = [look for look in looks if look.frames is not None and len(look.frames)]
    if len(framed) < FEWEST_IMAGES:
        return
    lines = np.concatenate([look.frames for look in framed])
    there = lines[:, 0] > 0
    if len(lines) < FEWEST_BOXES or there.mean() < MOST:
        return
    colours = lines[there][:, 1:]
    usual = tuple(int(value) for value in np.median(colours, axis=0))
    said = f"{int(there.sum())} of {len(lines)} boxes that were looked at have a line of a bright colour on their "
    said += f"edges (mostly red {usual[0]}, green {usual[1]}, blue {usual[2]})"
    yield Problem("drawn-boxes", path, said, int(there.sum()))
