"""Encoded bytes to the pixels of a tile: cut before decoding, decoded small, resized once, uint8 throughout.

Everything here runs inside tf.data's own threads; no Python is called, so an early exit cannot hang there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.pipeline.dataset_columns import JPEG, PNG

RATIOS = (1, 2, 4, 8)
# EXIF orientation 1 to 8: the upright image is the stored one transposed, then mirrored.
TRANSPOSED = np.array([o >= 5 for o in range(9)])
MIRRORED_X = np.array([o in (2, 3, 6, 7) for o in range(9)])
MIRRORED_Y = np.array([o in (3, 4, 7, 8) for o in range(9)])


def read(path: Any, offset: Any, length: Any, file_bytes: Any, *, sliced: bool) -> Any:
    """The encoded bytes: a file, or a slice of one.

    TensorFlow has no operation that reads a slice. A dataset of records of a fixed length has a header and a
    footer to skip, and one record between them is the slice; it costs about 0.4 ms more than a file.
    """
    if not sliced:
        return tf.io.read_file(path)

    def slice_of_file() -> Any:
        one = tf.data.FixedLengthRecordDataset(
            path, length, header_bytes=offset, footer_bytes=file_bytes - offset - length,
            buffer_size=tf.clip_by_value(length, 1, 1 << 20),
        )  # fmt: skip
        return one.get_single_element()

    return tf.cond(offset < 0, lambda: tf.io.read_file(path), slice_of_file)


def stored_window(crop_n4: Any, sizes_n2: Any, orientation_n: Any) -> Any:
    """(n, 4) y, x, height, width in the stored image for x1, y1, x2, y2 of the upright one."""
    x1, y1, x2, y2 = tf.unstack(crop_n4, axis=1)
    width, height = tf.unstack(sizes_n2, axis=1)
    mirrored_x, mirrored_y = tf.gather(MIRRORED_X, orientation_n), tf.gather(MIRRORED_Y, orientation_n)
    x1, x2 = tf.where(mirrored_x, width - x2, x1), tf.where(mirrored_x, width - x1, x2)
    y1, y2 = tf.where(mirrored_y, height - y2, y1), tf.where(mirrored_y, height - y1, y2)
    upright = tf.stack([y1, x1, y2 - y1, x2 - x1], axis=1)
    turned = tf.stack([x1, y1, x2 - x1, y2 - y1], axis=1)
    return tf.where(tf.gather(TRANSPOSED, orientation_n)[:, None], turned, upright)


def pixels(encoded: Any, codec: Any, ratio: Any, window: Any, *, codecs: frozenset[int]) -> Any:
    """The window of the stored image, decoded at 1/ratio. Only the branches that can occur are built."""

    def jpeg(by: int) -> Any:
        return lambda: tf.io.decode_and_crop_jpeg(encoded, window, channels=3, ratio=by)

    def any_ratio() -> Any:
        which = tf.cast(ratio >= 2, tf.int32) + tf.cast(ratio >= 4, tf.int32) + tf.cast(ratio >= 8, tf.int32)
        return tf.switch_case(which, [jpeg(by) for by in RATIOS])

    def cut(image: Any) -> Any:
        return tf.slice(image, [window[0], window[1], 0], [window[2], window[3], 3])

    if codecs == {JPEG}:
        return any_ratio()
    branches = {
        0: any_ratio,
        1: lambda: cut(tf.io.decode_png(encoded, channels=3)),
        2: lambda: cut(tf.io.decode_image(encoded, channels=3, expand_animations=False)),
    }
    if codecs == {PNG}:
        return branches[1]()
    return tf.switch_case(codec, branches)


def resized(image: Any, height: Any, width: Any) -> Any:
    """uint8 to uint8: nothing when the size is right, bilinear, or averaged when shrunk to less than half.

    JPEGs come here at less than twice their size, where plain bilinear sampling loses nothing.
    """
    shape = tf.shape(image)
    same = (shape[0] == height) & (shape[1] == width)
    far = _shrinks_below_half(shape[0], shape[1], height, width)

    def bilinear() -> Any:
        return tf.raw_ops.ResizeBilinear(
            images=image[None], size=tf.stack([height, width]), half_pixel_centers=True
        )

    def averaged() -> Any:
        return tf.image.resize(image[None], tf.stack([height, width]), antialias=True)

    def changed() -> Any:
        # The half is added before the batch of one is taken off: a slice shares its buffer, and the sum would
        # then need another, whose fresh pages cost as much as a third of the resize.
        return tf.cast(tf.cond(far, averaged, bilinear) + 0.5, tf.uint8)[0]

    return tf.cond(same, lambda: image, changed)


def _shrinks_below_half(height: Any, width: Any, to_height: Any, to_width: Any) -> Any:
    return (height > 2 * to_height + 1) | (width > 2 * to_width + 1)


def draw_on_tile(image: Any, order: Any, tile: Any, fill: int) -> Any:
    """The pixels at their place on a tile of grey. `order`: height, width, top, left, transpose, mirror y, mirror x.

    Height and width are those on the tile; the pixels still lie as they are stored.
    """
    height, width, top, left, transposed = order[0], order[1], order[2], order[3], order[4]
    turn = transposed > 0
    image = resized(image, tf.where(turn, width, height), tf.where(turn, height, width))
    image = tf.cond(turn, lambda: tf.transpose(image, [1, 0, 2]), lambda: image)
    mirrors = tf.concat([order[5:7] > 0, [False]], axis=0)
    image = tf.cond(
        tf.reduce_any(mirrors), lambda: tf.raw_ops.Reverse(tensor=image, dims=mirrors), lambda: image
    )
    beside = [[top, tile[0] - top - height], [left, tile[1] - left - width], [0, 0]]
    grey = tf.constant(fill, tf.uint8)
    filled = (height == tile[0]) & (width == tile[1])
    return tf.cond(filled, lambda: image, lambda: tf.pad(image, beside, constant_values=grey))


# -- where the compiled step resizes ------------------------------------------------------------------


def device_views(
    window_b4: Any, order_b7: Any, whole_b: Any, size: tuple[int, int], pixels: int
) -> tuple[Any, Any]:
    """(b,) which images the step can resize itself, and (b, 9) how `device.resized` reads what is sent of each.

    The pixel at (y, x) of the upright, mirrored window is number start + y * by_row + x * by_column of those sent, so
    turning and mirroring cost nothing. An image that is no single window (`whole_b`), that has more pixels than are
    sent, or that must be averaged, is drawn here instead, and what is sent is the image itself.
    """
    stored_height, stored_width = window_b4[:, 2], window_b4[:, 3]
    to_height, to_width, top, left, turn, mirror_y, mirror_x = tf.unstack(order_b7, axis=1)
    turned, one = turn > 0, tf.ones_like(turn)
    height = tf.where(turned, stored_width, stored_height)
    width = tf.where(turned, stored_height, stored_width)
    by_row, by_column = tf.where(turned, one, stored_width), tf.where(turned, stored_width, one)
    start = mirror_y * (height - 1) * by_row + mirror_x * (width - 1) * by_column
    by_row, by_column = by_row * (1 - 2 * mirror_y), by_column * (1 - 2 * mirror_x)
    view = tf.stack([height, width, start, by_row, by_column, to_height, to_width, top, left], axis=1)
    fits = whole_b & ~_shrinks_below_half(height, width, to_height, to_width) & (height * width <= pixels)
    return fits, tf.where(fits[:, None], view, [[*size, 0, size[1], 1, *size, 0, 0]])
