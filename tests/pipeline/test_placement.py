"""What is kept of boxes on a tile, by hand."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.hot


def test_a_tile_of_no_height_draws_nothing() -> None:
    """An image that is no mosaic has such tiles: the boxes of the images that might have lain there are not real."""
    import tensorflow as tf

    from holdfast.pipeline.placement import Placement, clip_to_visible, map_boxes, scale_and_shift

    def placed(height: int) -> Placement:
        whole = tf.constant([[0, 0, 640, 480]])
        drawn = tf.constant([[0, 0, 320, height]])
        return Placement(
            ratio=tf.constant([1]),
            crop=whole,
            drawn=drawn,
            tile=tf.constant([[320, height]]),
            flip=tf.constant([False]),
        )

    boxes = tf.constant([[[64.0, 48.0, 128.0, 96.0]]])
    for height, kept in ((240, True), (0, False)):
        tile = placed(height)
        _, real, rest = clip_to_visible(map_boxes(boxes, scale_and_shift(tile)), tile)
        assert (bool(real[0, 0]), bool(rest[0, 0])) == (kept, False)
