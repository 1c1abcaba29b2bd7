"""How a picture of any size is brought to the input's, and how boxes come back. Numpy and Pillow alone.

"stretch" fills the input and changes the picture's shape; "letterbox" keeps its shape, in the middle, and
fills the rest with grey.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

Floats = NDArray[np.float64]
GREY = 114


class Placed(NamedTuple):
    """input = picture * scale + shift, for x and y."""

    scale: tuple[float, float]
    shift: tuple[float, float]

    def to_input(self, boxes_n4: Floats) -> Floats:
        return boxes_n4 * np.array([*self.scale, *self.scale]) + np.array([*self.shift, *self.shift])

    def to_picture(self, boxes_n4: Floats, picture: tuple[int, int]) -> Floats:
        """Cut at the picture's edges; `picture` is (width, height)."""
        boxes = (boxes_n4 - np.array([*self.shift, *self.shift])) / np.array([*self.scale, *self.scale])
        return np.clip(boxes, 0.0, np.array([*picture, *picture], dtype=float))


def place(picture: tuple[int, int], input_size: tuple[int, int], rule: str) -> Placed:
    """`picture` is (width, height), `input_size` (height, width)."""
    (width, height), (rows, columns) = picture, input_size
    if rule == "stretch":
        return Placed((columns / width, rows / height), (0.0, 0.0))
    drawn = _drawn(picture, input_size)
    shift = ((columns - drawn[0]) // 2, (rows - drawn[1]) // 2)
    return Placed((drawn[0] / width, drawn[1] / height), (float(shift[0]), float(shift[1])))


def resized(image: Image.Image, input_size: tuple[int, int], rule: str) -> NDArray[np.uint8]:
    """(height, width, 3), uint8."""
    from PIL import Image

    rows, columns = input_size
    if rule == "stretch":
        return np.asarray(image.resize((columns, rows), Image.Resampling.BILINEAR), dtype=np.uint8)
    drawn = _drawn(image.size, input_size)
    canvas = np.full((rows, columns, 3), GREY, dtype=np.uint8)
    left, top = (columns - drawn[0]) // 2, (rows - drawn[1]) // 2
    canvas[top : top + drawn[1], left : left + drawn[0]] = np.asarray(
        image.resize(drawn, Image.Resampling.BILINEAR)
    )
    return canvas


def _drawn(picture: tuple[int, int], input_size: tuple[int, int]) -> tuple[int, int]:
    """(width, height) in whole pixels, at least one."""
    scale = min(input_size[1] / picture[0], input_size[0] / picture[1])
    return max(1, round(picture[0] * scale)), max(1, round(picture[1] * scale))
