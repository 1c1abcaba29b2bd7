"""A window made exact: whole pixels to decode, whole pixels to draw, and where each box lands.

Boxes are moved by the very mapping that the pixels take, after rounding, so that a box and the object under
it never part. Shapes: n images, m boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from holdfast.pipeline.image_sizes import SMALLER_BY


@dataclass(frozen=True)
class Placement:
    """Where the pixels come from (upright, at 1/ratio) and where in the tile they go, as int32 (n, 4)."""

    ratio: Any  # (n,) 1, 2, 4 or 8
    crop: Any  # (n, 4) x1, y1, x2, y2 in pixels of the upright image decoded at 1/ratio
    drawn: Any  # (n, 4) x1, y1, x2, y2 in pixels of the tile, before the flip
    flip: Any  # (n,) bool
    tile: Any  # (n, 2) width, height of the tile


def decode_ratio(shrink_n: Any, scalable_n: Any) -> Any:
    """The largest of 1, 2, 4, 8 by which an image may be decoded smaller, when drawn at 1/shrink."""
    most = tf.where(scalable_n, shrink_n * SMALLER_BY, tf.ones_like(shrink_n))
    by_2, by_4, by_8 = (tf.cast(most >= power, tf.int32) for power in (2.0, 4.0, 8.0))
    return 1 + by_2 + 2 * by_4 + 4 * by_8


def shrink_of(window_n4: Any, tile_n2: Any) -> Any:
    """How many pixels of the image fall on one of the tile, in the direction where they are fewest."""
    return tf.reduce_min(
        (window_n4[:, 2:] - window_n4[:, :2]) / tf.cast(tf.maximum(tile_n2, 1), tf.float32), axis=1
    )


def place(window_n4: Any, sizes_n2: Any, tile_n2: Any, flip_n: Any, ratio_n: Any) -> Placement:
    """Whole pixels for a window of upright images of these sizes, drawn on tiles of these sizes."""
    tile = tf.cast(tile_n2, tf.float32)
    scale_n2 = tile / (window_n4[:, 2:] - window_n4[:, :2])
    step = tf.cast(ratio_n, tf.float32)[:, None]
    low = tf.floor(tf.clip_by_value(window_n4[:, :2], 0.0, sizes_n2 - 1.0) / step)
    high = tf.math.ceil(tf.clip_by_value(window_n4[:, 2:], 1.0, sizes_n2) / step)
    high = tf.maximum(high, low + 1.0)
    drawn_low = tf.round((low * step - window_n4[:, :2]) * scale_n2)
    drawn_high = tf.round((high * step - window_n4[:, :2]) * scale_n2)
    drawn_low = tf.clip_by_value(drawn_low, 0.0, tf.maximum(tile - 1.0, 0.0))
    drawn_high = tf.clip_by_value(drawn_high, tf.minimum(drawn_low + 1.0, tile), tile)
    as_int = [tf.cast(part, tf.int32) for part in (low, high, drawn_low, drawn_high)]
    return Placement(
        ratio_n, tf.concat(as_int[:2], 1), tf.concat(as_int[2:], 1), flip_n, tf.cast(tile_n2, tf.int32)
    )


def scale_and_shift(placed: Placement) -> Any:
    """(n, 4): x_scale, y_scale, x_shift, y_shift of upright pixels to pixels of the tile, flip included."""
    step = tf.cast(placed.ratio, tf.float32)[:, None]
    crop, drawn = tf.cast(placed.crop, tf.float32), tf.cast(placed.drawn, tf.float32)
    scale = (drawn[:, 2:] - drawn[:, :2]) / ((crop[:, 2:] - crop[:, :2]) * step)
    shift = drawn[:, :2] - crop[:, :2] * step * scale
    sign = tf.where(placed.flip, -1.0, 1.0)
    mirrored = tf.cast(placed.tile[:, 0], tf.float32) - shift[:, 0]
    x_shift = tf.where(placed.flip, mirrored, shift[:, 0])
    return tf.stack([scale[:, 0] * sign, scale[:, 1], x_shift, shift[:, 1]], axis=1)


def map_boxes(boxes_nm4: Any, mapping_n4: Any) -> Any:
    """Boxes of the upright image, on the tile; not yet clipped."""
    scale, shift = mapping_n4[:, None, :2], mapping_n4[:, None, 2:]
    one, other = boxes_nm4[..., :2] * scale + shift, boxes_nm4[..., 2:] * scale + shift
    return tf.concat([tf.minimum(one, other), tf.maximum(one, other)], axis=-1)


def clip_to_visible(moved_nm4: Any, placed: Placement) -> tuple[Any, Any, Any]:
    """The boxes cut to what is drawn; which are kept; which are only a rest to be ignored.

    A box is kept when its centre is drawn (SSD's rule) and, if it was cut, a pixel of it is left each way. One
    whose centre is cut away but that still shows is handed on as a region to ignore: neither an object nor
    background.
    """
    drawn = tf.cast(placed.drawn, tf.float32)
    width = tf.cast(placed.tile[:, 0], tf.float32)
    left = tf.where(placed.flip, width - drawn[:, 2], drawn[:, 0])
    right = tf.where(placed.flip, width - drawn[:, 0], drawn[:, 2])
    low = tf.stack([left, drawn[:, 1]], axis=1)[:, None, :]
    high = tf.stack([right, drawn[:, 3]], axis=1)[:, None, :]
    cut = tf.concat(
        [tf.clip_by_value(moved_nm4[..., :2], low, high), tf.clip_by_value(moved_nm4[..., 2:], low, high)], -1
    )
    shows = tf.reduce_all(cut[..., 2:] - cut[..., :2] >= 1.0, axis=-1)
    centre = (moved_nm4[..., :2] + moved_nm4[..., 2:]) / 2.0
    inside = tf.reduce_all((centre >= low) & (centre <= high), axis=-1)
    uncut = tf.reduce_all(tf.abs(cut - moved_nm4) < 1e-3, axis=-1)
    real = tf.reduce_all(
        moved_nm4[..., 2:] > moved_nm4[..., :2], axis=-1
    )  # a tile of no height draws nothing
    return cut, inside & (shows | uncut) & real, shows & ~inside & real
