"""What is kept of boxes on a tile, by hand."""

from __future__ import annotations

import numpy as np

from holdfast.pipeline.placement import Placement, clip_to_visible, map_boxes, scale_and_shift


def test_a_tile_of_no_height_draws_nothing() -> None:
    """An image that is no mosaic has such tiles: the boxes of the images that might have lain there are not real."""

    def placed(height: int) -> Placement:
        whole = np.array([[0, 0, 640, 480]])
        drawn = np.array([[0, 0, 320, height]])
        return Placement(
            ratio=np.array([1]),
            crop=whole,
            drawn=drawn,
            tile=np.array([[320, height]]),
            flip=np.array([False]),
        )

    boxes = np.array([[[64.0, 48.0, 128.0, 96.0]]], np.float32)
    for height, kept in ((240, True), (0, False)):
        tile = placed(height)
        _, real, rest = clip_to_visible(map_boxes(boxes, scale_and_shift(tile)), tile)
        assert (bool(real[0, 0]), bool(rest[0, 0])) == (kept, False)
