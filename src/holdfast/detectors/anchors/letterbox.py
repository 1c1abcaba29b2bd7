"""Where an image of any size lies in the input, and how boxes come back. Numpy alone.

"stretch" fills the input and changes the image's shape; "letterbox" keeps its shape, in the middle, and
fills the rest with grey. Pixels are brought there by `pipeline`, for training and for everything after it;
this is the same arithmetic where there are no pixels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
GREY = 114


class InputMapping(NamedTuple):
    """input = image * scale + shift, for x and y."""

    scale: tuple[float, float]
    shift: tuple[float, float]

    @classmethod
    def of_mapping(cls, mapping_4: NDArray[np.float32]) -> InputMapping:
        """From the pipeline's x_scale, y_scale, x_shift, y_shift."""
        x_scale, y_scale, x_shift, y_shift = (float(value) for value in mapping_4)
        return cls((x_scale, y_scale), (x_shift, y_shift))

    def to_input(self, boxes_n4: Floats) -> Floats:
        return boxes_n4 * np.array([*self.scale, *self.scale]) + np.array([*self.shift, *self.shift])

    def to_image(self, boxes_n4: Floats, image: tuple[int, int]) -> Floats:
        """Cut at the image's edges; `image` is (width, height)."""
        boxes = (boxes_n4 - np.array([*self.shift, *self.shift])) / np.array([*self.scale, *self.scale])
        return np.clip(boxes, 0.0, np.array([*image, *image], dtype=float))


def map_to_input(image: tuple[int, int], input_size: tuple[int, int], rule: str) -> InputMapping:
    """`image` is (width, height), `input_size` (height, width).

    As `pipeline.placement.place` has it, in float32 like it: both edges of the drawn part are rounded.
    """
    size, tile = np.array(image, np.float32), np.array(input_size[::-1], np.float32)
    window = size if rule == "stretch" else np.maximum(size, size[::-1] * tile / tile[::-1])
    low = np.float32(0.5) * (size - window)
    scale = tile / window
    drawn_low = np.clip(np.rint(-low * scale), 0.0, tile - 1.0)
    drawn_high = np.clip(np.rint((size - low) * scale), drawn_low + 1.0, tile)
    by = (drawn_high - drawn_low) / size
    return InputMapping((float(by[0]), float(by[1])), (float(drawn_low[0]), float(drawn_low[1])))
