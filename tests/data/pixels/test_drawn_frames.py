"""Lines on boxes, and borders that belong to the objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PIL import Image, ImageDraw

from holdfast.data.pixels.drawn_frames import frame_colours, problems
from holdfast.data.pixels.look_sample import CloseLook

from .scenes import look


def drawn(seed: int, colour: tuple[int, int, int] | None, angle: int = 0) -> CloseLook:
    one = look(seed, size=(320, 240))
    image = Image.fromarray(one.pixels)
    for x1, y1, x2, y2 in one.boxes.tolist():
        if colour is not None:
            slant = (x2 - x1) * angle // 30
            corners = [(x1 + slant, y1), (x2 - 1, y1 + slant), (x2 - 1 - slant, y2 - 1), (x1, y2 - 1 - slant)]
            ImageDraw.Draw(image).line([*corners, corners[0]], fill=colour, width=2)
    pixels = np.asarray(image)
    return replace(one, pixels=pixels, frames=frame_colours(pixels, one.boxes / np.array([320, 240] * 2)))


def test_lines_on_the_boxes() -> None:
    found = list(problems([drawn(n, (0, 255, 0)) for n in range(20)], "d"))
    assert [one.finding for one in found] == ["drawn-boxes"]


def test_no_lines_dark_lines_and_turned_borders() -> None:
    for colour, angle in ((None, 0), ((40, 40, 40), 0), ((255, 0, 0), 12)):
        assert list(problems([drawn(n, colour, angle) for n in range(20)], "d")) == []
