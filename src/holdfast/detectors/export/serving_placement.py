"""Where an image of any size lies on the model's input, in TensorFlow: the arithmetic of `pipeline.placement` for a
whole image without augmentation, in float32 and in the same order, so that an exported file shows the same pixels."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.pipeline.image_sizes import SMALLER_BY


class ServingPlacement(NamedTuple):
    ratio: Any  # 1, 2, 4 or 8
    drawn: Any  # x1, y1, x2, y2 on the input, int32
    scale: Any  # x, y: pixels of the image to those of the input
    shift: Any


def place(size_wh: Any, width: int, height: int, *, letterbox: bool) -> ServingPlacement:
    """`size_wh` is the image's width and height, float32."""
    import tensorflow as tf

    tile = tf.constant([width, height], tf.float32)
    window = tf.concat([tf.zeros_like(size_wh), size_wh], 0)
    if letterbox:
        window = _grown_to(window, tf.constant(width / height, tf.float32))
    shrink = tf.reduce_min((window[2:] - window[:2]) / tile) * SMALLER_BY
    by_2, by_4, by_8 = (tf.cast(shrink >= power, tf.int32) for power in (2.0, 4.0, 8.0))
    ratio = 1 + by_2 + 2 * by_4 + 4 * by_8
    step, by = tf.cast(ratio, tf.float32), tile / (window[2:] - window[:2])
    low = tf.floor(tf.clip_by_value(window[:2], 0.0, size_wh - 1.0) / step)
    high = tf.maximum(tf.math.ceil(tf.clip_by_value(window[2:], 1.0, size_wh) / step), low + 1.0)
    drawn_low = tf.clip_by_value(tf.round((low * step - window[:2]) * by), 0.0, tf.maximum(tile - 1.0, 0.0))
    drawn_high = tf.round((high * step - window[:2]) * by)
    drawn_high = tf.clip_by_value(drawn_high, tf.minimum(drawn_low + 1.0, tile), tile)
    scale = (drawn_high - drawn_low) / ((high - low) * step)
    drawn = tf.cast(tf.concat([drawn_low, drawn_high], 0), tf.int32)
    return ServingPlacement(ratio, drawn, scale, drawn_low - low * step * scale)


def _grown_to(window: Any, aspect: Any) -> Any:
    """As `crop_windows.grown_to`, whose corner slides by a half."""
    import tensorflow as tf

    width, height = window[2] - window[0], window[3] - window[1]
    new_width, new_height = tf.maximum(width, height * aspect), tf.maximum(height, width / aspect)
    x1 = window[0] + 0.5 * (window[2] - window[0] - new_width)
    y1 = window[1] + 0.5 * (window[3] - window[1] - new_height)
    return tf.stack([x1, y1, x1 + new_width, y1 + new_height])
