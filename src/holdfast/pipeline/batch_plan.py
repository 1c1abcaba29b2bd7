"""A step's number to its instructions: which images, which pixels of them, where they go, and the boxes.

Everything that is decided about a batch is decided here, for the whole batch at once, from the step's number
alone; what follows only reads, decodes and copies. Shapes: b images of a batch, k tiles of an image (one, or
four with mosaics), n = b * k, m boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.pipeline import crop_windows, decode, order, placement
from holdfast.pipeline.dataset_columns import JPEG, Columns
from holdfast.pipeline.feed import Feed

# The places in a tile's row of instructions.
ROW, CODEC, RATIO = 0, 1, 2
WINDOW = slice(3, 7)  # y, x, height, width of the stored image at 1/ratio
DRAWN = slice(7, 14)  # as `decode.drawn` takes them
TILE = slice(14, 16)  # height, width
INSTRUCTIONS = 16


@dataclass(frozen=True)
class Tables:
    """The columns as tensors. With a packed copy, rows n to 2n - 1 are the packed images."""

    images: int
    sizes: Any
    codecs: Any
    orientations: Any
    first: Any
    boxes: Any
    labels: Any
    crowds: Any
    fixed_ratios: Any | None  # where whole decoded images are kept, the ratio at which
    substitutes: Any  # image -> the image shown for it: itself, unless it is bad
    fullest: int
    packed_from_epoch: int | None = None  # rows n to 2n - 1 from this epoch on


def build_tables(
    columns: Columns,
    images: int,
    substitutes: np.ndarray,
    fixed_ratios: np.ndarray | None,
    packed_from: int | None,
) -> Tables:
    def padded(values: np.ndarray, like: Any) -> Any:
        """A last row for boxes that are not there, so that looking one up is never out of range."""
        return tf.constant(np.concatenate([values, np.array([like], values.dtype)]))

    return Tables(
        images=images,
        sizes=tf.constant(columns.sizes, tf.float32),
        codecs=tf.constant(columns.codecs),
        orientations=tf.constant(columns.orientations),
        first=tf.constant(columns.first),
        boxes=padded(columns.boxes, [0, 0, 0, 0]),
        labels=padded(columns.labels, 0),
        crowds=padded(columns.crowds, False),
        fixed_ratios=None if fixed_ratios is None else tf.constant(fixed_ratios, tf.int32),
        substitutes=tf.constant(substitutes, tf.int64),
        fullest=columns.fullest,
        packed_from_epoch=packed_from,
    )


def max_boxes(feed: Feed, fullest: int) -> int:
    if feed.max_boxes is not None:
        return feed.max_boxes
    return max(1, fullest * (4 if feed.augment.mosaic else 1))


def positions_of(first_step: Any, feed: Feed, steps: int) -> Any:
    """The positions in the data of this process's part of the batches of some steps."""
    starts = (first_step + tf.range(steps, dtype=tf.int64)) * feed.global_batch + feed.part * feed.batch
    return tf.reshape(starts[:, None] + tf.range(feed.batch, dtype=tf.int64), [-1])


def instructions(first_step: Any, feed: Feed, table: Tables, steps: int = 1) -> dict[str, Any]:
    """All that follows from a step's number, for so many steps. `tiles` is (b, k, INSTRUCTIONS)."""
    positions = positions_of(first_step, feed, steps)
    images = feed.batch * steps
    in_epoch = tf.ones([images], tf.bool) if feed.endless else positions < table.images
    positions = positions if feed.endless else tf.minimum(positions, table.images - 1)
    epochs = positions // table.images
    main = images_at(positions, feed, table.images)
    shown_bk, keys_bk = _partners(epochs, main, feed, table.images)
    tiles_per_image = shown_bk.shape[1]
    epochs_n = tf.repeat(epochs, tiles_per_image)
    rows = _rows(tf.reshape(shown_bk, [-1]), epochs_n, table)
    draws = order.uniforms(
        tf.reshape(keys_bk, [-1]), crop_windows.DRAWS, lambda bits: tf.cast(bits, tf.float32)
    )
    corners, sizes, mosaic = _tile_frames(draws, feed, tiles_per_image)
    boxes, labels, crowds = _boxes_of(rows, table)
    placed = _place(rows, boxes, draws, sizes, mosaic, feed, table)
    labelled = _padded_boxes((boxes, labels, crowds), placed, corners, max_boxes(feed, table.fullest), images)
    mapping = tf.reshape(placement.scale_and_shift(placed), [images, -1, 4])[:, 0]
    tiles = tf.reshape(_rows_of_instructions(rows, placed, table), [images, -1, INSTRUCTIONS])
    return {
        "tiles": tiles,
        **(_sent(tiles[:, 0], feed, feed.sent_pixels) if feed.sent_pixels else {}),
        "image": main,
        "in_epoch": in_epoch,
        "mapping": mapping,
        "colour": _colour(draws, feed, tiles_per_image),
        **labelled,
    }


def whole_image_instructions(size_2: Any, codec: Any, orientation: Any, feed: Feed) -> tuple[Any, Any]:
    """The instructions and the mapping of one image as a stream without augmentation shows it."""
    table = Tables(
        images=1, sizes=size_2[None], codecs=codec[None], orientations=orientation[None], first=None, boxes=None,
        labels=None, crowds=None, fixed_ratios=None, substitutes=None, fullest=0,
    )  # fmt: skip
    rows, draws = tf.zeros([1], tf.int64), tf.zeros([1, crop_windows.DRAWS])
    _, tile, mosaic = _tile_frames(draws, feed, 1)
    placed = _place(rows, None, draws, tile, mosaic, feed, table)
    return _rows_of_instructions(rows, placed, table)[0], placement.scale_and_shift(placed)[0]


def images_at(positions: Any, feed: Feed, images: int) -> Any:
    """`order.image_at`, in the graph."""
    positions = tf.cast(positions, tf.uint64)
    slots = positions % images
    if not feed.shuffle:
        return tf.cast(slots, tf.int64)
    base = order.key(feed.seed, order.ORDER, positions // images)
    round_keys = [order.mix(base + (turn + 1) * order.GOLDEN % 2**64) for turn in range(order.ROUNDS)]

    def stir(found: Any, beyond: Any) -> tuple[Any, Any]:
        found = tf.where(beyond, order.feistel_pass(found, round_keys, images), found)
        return found, found >= images

    found, _ = tf.while_loop(
        lambda found, beyond: tf.reduce_any(beyond), stir, [slots, tf.ones_like(slots, tf.bool)]
    )
    return tf.cast(found, tf.int64)


def _partners(epochs: Any, main: Any, feed: Feed, images: int) -> tuple[Any, Any]:
    """(b, k) the images of the tiles, and the key of each tile's draws."""
    tiles = 4 if feed.augment.mosaic else 1
    epoch_b1, main_b1 = tf.cast(epochs, tf.uint64)[:, None], tf.cast(main, tf.uint64)[:, None]
    keys = order.key(feed.seed, order.AUGMENT, epoch_b1, main_b1 * 4 + np.arange(tiles, dtype=np.uint64))
    others = order.key(
        feed.seed, order.PARTNERS, epoch_b1, main_b1 * 4 + np.arange(1, tiles, dtype=np.uint64)
    )
    return tf.concat([main[:, None], tf.cast(others % images, tf.int64)], axis=1), keys


def _rows(shown_n: Any, epochs_n: Any, table: Tables) -> Any:
    rows = tf.gather(table.substitutes, shown_n)
    if table.packed_from_epoch is None:
        return rows
    return tf.where(epochs_n >= table.packed_from_epoch, rows + table.images, rows)


def _tile_frames(draws: Any, feed: Feed, tiles: int) -> tuple[Any, Any, Any]:
    """(n, 2) corners and sizes of the tiles on the canvas, x first, and (n,) whether it is a mosaic's."""
    if tiles == 1:
        sizes = tf.tile(tf.constant([[feed.width, feed.height]]), [tf.shape(draws)[0], 1])
        return tf.zeros_like(sizes), sizes, tf.zeros_like(draws[:, 0], tf.bool)
    main = draws[::tiles]
    mosaic = main[:, crop_windows.MOSAIC] < feed.augment.mosaic
    # The point where the four meet, in the middle two fifths.
    x = tf.cast(feed.width * (0.3 + 0.4 * main[:, crop_windows.MOSAIC_X]), tf.int32)
    y = tf.cast(feed.height * (0.3 + 0.4 * main[:, crop_windows.MOSAIC_Y]), tf.int32)
    x, y = tf.where(mosaic, x, feed.width), tf.where(mosaic, y, feed.height)
    nothing, right, below = tf.zeros_like(x), feed.width - x, feed.height - y
    corners = tf.stack([nothing, nothing, x, nothing, nothing, y, x, y], axis=1)
    sizes = tf.stack([x, y, right, y, x, below, right, below], axis=1)
    return tf.reshape(corners, [-1, 2]), tf.reshape(sizes, [-1, 2]), tf.repeat(mosaic, tiles)


def _boxes_of(rows: Any, table: Tables) -> tuple[Any, Any, Any]:
    first, after = tf.gather(table.first, rows), tf.gather(table.first, rows + 1)
    at = first[:, None] + tf.range(table.fullest, dtype=tf.int64)
    at = tf.where(at < after[:, None], at, tf.cast(tf.shape(table.labels)[0] - 1, tf.int64))
    return tf.gather(table.boxes, at), tf.gather(table.labels, at), tf.gather(table.crowds, at)


def _place(rows: Any, boxes: Any, draws: Any, tile_n2: Any, mosaic: Any, feed: Feed, table: Tables) -> Any:
    augment = feed.augment
    sizes = tf.gather(table.sizes, rows)
    drawn_at_all = tf.reduce_min(tile_n2, axis=1) > 0
    aspect = tf.where(drawn_at_all, tf.cast(tile_n2[:, 0] / tf.maximum(tile_n2[:, 1], 1), tf.float32), 1.0)
    keeps_aspect = feed.fit == "letterbox"
    window = crop_windows.whole_image(sizes)
    if augment.expand:
        window = crop_windows.expanded(window, draws, augment)
    if augment.crop:
        wanted = aspect[:, None] if keeps_aspect else None
        window = crop_windows.iou_cropped(window, boxes, draws, augment, wanted)
    if keeps_aspect:
        window = crop_windows.grown_to(window, aspect)
    if augment.scale != (1.0, 1.0):
        window = crop_windows.rescaled(window, draws, augment)
    if augment.mosaic:
        tiled = crop_windows.covering(crop_windows.whole_image(sizes), aspect, draws, augment.mosaic_least)
        window = tf.where(mosaic[:, None], tiled, window)
    if table.fixed_ratios is not None:
        ratio = tf.gather(table.fixed_ratios, rows)
    else:
        ratio = placement.decode_ratio(
            placement.shrink_of(window, tile_n2), tf.gather(table.codecs, rows) == JPEG
        )
    flip = draws[:, crop_windows.FLIP] < augment.flip
    return placement.place(window, sizes, tile_n2, flip, ratio)


def _rows_of_instructions(rows: Any, placed: placement.Placement, table: Tables) -> Any:
    orientation = tf.gather(table.orientations, rows)
    ratio = placed.ratio[:, None]
    upright = (tf.cast(tf.gather(table.sizes, rows), tf.int32) + ratio - 1) // ratio
    window = decode.stored_window(placed.crop, upright, orientation)
    x1, y1, x2, y2 = tf.unstack(placed.drawn, axis=1)
    left = tf.where(placed.flip, placed.tile[:, 0] - x2, x1)
    mirror_x = tf.not_equal(tf.gather(decode.MIRRORED_X, orientation), placed.flip)
    flags = [tf.gather(decode.TRANSPOSED, orientation), tf.gather(decode.MIRRORED_Y, orientation), mirror_x]
    what = [tf.cast(rows, tf.int32), tf.gather(table.codecs, rows), placed.ratio]
    where = [y2 - y1, x2 - x1, y1, left, *(tf.cast(flag, tf.int32) for flag in flags)]
    return tf.concat([tf.stack(what, 1), window, tf.stack(where, 1), placed.tile[:, ::-1]], axis=1)


def _sent(first_tile: Any, feed: Feed, pixels: int) -> dict[str, Any]:
    size = feed.height, feed.width
    whole = tf.reduce_all(first_tile[:, TILE] == [size], axis=1)  # else it is a mosaic's
    fits, view = decode.device_views(first_tile[:, WINDOW], first_tile[:, DRAWN], whole, size, pixels)
    return {"resized_by_step": fits, "view": view}


def _padded_boxes(
    annotated: tuple[Any, Any, Any], placed: placement.Placement, corners: Any, most: int, images: int
) -> dict[str, Any]:
    """Boxes on the canvas, the largest first, padded to a fixed number.

    With more than that number the smallest are left out, and `boxes_left_out` counts them.
    """
    boxes, labels, crowds = annotated
    moved = placement.map_boxes(boxes, placement.scale_and_shift(placed))
    cut, kept, rest = placement.clip_to_visible(moved, placed)
    cut += tf.cast(tf.tile(corners, [1, 2]), tf.float32)[:, None, :]
    # Columns that are never real, so that a dataset without a box has something to take.
    cut, labels, crowds = (_by_image(part, images, most) for part in (cut, labels, crowds | rest))
    shown = _by_image(kept | rest, images, most)
    areas = tf.reduce_prod(cut[..., 2:] - cut[..., :2], axis=-1)
    _, at = tf.math.top_k(tf.where(shown, areas, crop_windows.NO_BOX), k=most)
    real = tf.gather(shown, at, batch_dims=1)
    chosen = tf.gather(cut, at, batch_dims=1)
    left_out = tf.reduce_sum(tf.cast(shown, tf.int32), 1) - tf.reduce_sum(tf.cast(real, tf.int32), 1)
    return {
        "boxes": tf.where(real[..., None], chosen, tf.zeros_like(chosen)),
        "labels": tf.where(real, tf.gather(labels, at, batch_dims=1), 0),
        "real": real,
        "crowd": tf.gather(crowds, at, batch_dims=1) & real,
        "boxes_left_out": left_out,
    }


def _by_image(values: Any, images: int, most: int) -> Any:
    """(n, m, …) to (b, k·m or more, …)."""
    tail = values.shape[2:].as_list()
    together = tf.reshape(values, [images, -1, *tail])
    return tf.pad(together, [[0, 0], [0, most], *([[0, 0]] * len(tail))])


def _colour(draws: Any, feed: Feed, tiles: int) -> Any:
    """(b, 4) what `device.recoloured` takes: added brightness, factors of contrast and saturation, turn of hue."""
    augment = feed.augment
    main = draws[::tiles]
    drawn = main[:, crop_windows.BRIGHTNESS : crop_windows.HUE + 1] * 2.0 - 1.0
    reach = tf.constant([augment.brightness, augment.contrast, augment.saturation, augment.hue])
    return drawn * reach + tf.constant([0.0, 1.0, 1.0, 0.0])
