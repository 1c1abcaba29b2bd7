"""A step's number to its instructions: which images, which pixels of them, where they go, and the boxes.

Everything that is decided about a batch is decided here, for the whole batch at once, from the step's number
alone; what follows only reads, decodes and copies. Shapes: b images of a batch, k tiles of an image (one, or
four with mosaics), n = b * k, m boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
    """The columns as the plan needs them. With a packed copy, rows n to 2n - 1 are the packed images."""

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
        return np.concatenate([values, np.array([like], values.dtype)])

    return Tables(
        images=images,
        sizes=columns.sizes.astype(np.float32),
        codecs=columns.codecs,
        orientations=columns.orientations,
        first=columns.first,
        boxes=padded(columns.boxes, [0, 0, 0, 0]),
        labels=padded(columns.labels, 0),
        crowds=padded(columns.crowds, False),
        fixed_ratios=None if fixed_ratios is None else fixed_ratios.astype(np.int32),
        substitutes=substitutes.astype(np.int64),
        fullest=columns.fullest,
        packed_from_epoch=packed_from,
    )


def max_boxes(feed: Feed, fullest: int) -> int:
    if feed.max_boxes is not None:
        return feed.max_boxes
    return max(1, fullest * (4 if feed.augment.mosaic else 1))


def positions_of(first_step: Any, feed: Feed, steps: int) -> Any:
    """The positions in the data of this process's part of the batches of some steps."""
    starts = (first_step + np.arange(steps, dtype=np.int64)) * feed.global_batch + feed.part * feed.batch
    return (starts[:, None] + np.arange(feed.batch, dtype=np.int64)).reshape(-1)


def instructions(first_step: Any, feed: Feed, table: Tables, steps: int = 1) -> dict[str, Any]:
    """All that follows from a step's number, for so many steps. `tiles` is (b, k, INSTRUCTIONS)."""
    positions = positions_of(first_step, feed, steps)
    images = feed.batch * steps
    in_epoch = np.ones(images, bool) if feed.endless else positions < table.images
    positions = positions if feed.endless else np.minimum(positions, table.images - 1)
    epochs = positions // table.images
    main = order.image_at(positions, images=table.images, seed=feed.seed, shuffle=feed.shuffle)
    shown_bk, keys_bk = _partners(epochs, main, feed, table.images)
    tiles_per_image = shown_bk.shape[1]
    epochs_n = np.repeat(epochs, tiles_per_image)
    rows = _rows(shown_bk.reshape(-1), epochs_n, table)
    draws = order.uniforms(keys_bk.reshape(-1), crop_windows.draws_of(feed.augment))
    corners, sizes, mosaic = _tile_frames(draws, feed, tiles_per_image)
    boxes, labels, crowds = _boxes_of(rows, table)
    placed = _place(rows, boxes, draws, sizes, mosaic, feed, table)
    labelled = _padded_boxes((boxes, labels, crowds), placed, corners, max_boxes(feed, table.fullest), images)
    mapping = placement.scale_and_shift(placed).reshape(images, -1, 4)[:, 0]
    tiles = _rows_of_instructions(rows, placed, table).reshape(images, -1, INSTRUCTIONS)
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
    rows, draws = np.zeros(1, np.int64), np.zeros((1, crop_windows.FIRST_TRIAL), np.float32)
    _, tile, mosaic = _tile_frames(draws, feed, 1)
    placed = _place(rows, None, draws, tile, mosaic, feed, table)
    return _rows_of_instructions(rows, placed, table)[0], placement.scale_and_shift(placed)[0]


def _partners(epochs: Any, main: Any, feed: Feed, images: int) -> tuple[Any, Any]:
    """(b, k) the images of the tiles, and the key of each tile's draws."""
    tiles = 4 if feed.augment.mosaic else 1
    epoch_b1, main_b1 = epochs.astype(np.uint64)[:, None], main.astype(np.uint64)[:, None]
    keys = order.key(feed.seed, order.AUGMENT, epoch_b1, main_b1 * 4 + np.arange(tiles, dtype=np.uint64))
    others = order.key(
        feed.seed, order.PARTNERS, epoch_b1, main_b1 * 4 + np.arange(1, tiles, dtype=np.uint64)
    )
    return np.concatenate([main[:, None], (others % images).astype(np.int64)], axis=1), keys


def _rows(shown_n: Any, epochs_n: Any, table: Tables) -> Any:
    rows = table.substitutes[shown_n]
    if table.packed_from_epoch is None:
        return rows
    return np.where(epochs_n >= table.packed_from_epoch, rows + table.images, rows)


def _tile_frames(draws: Any, feed: Feed, tiles: int) -> tuple[Any, Any, Any]:
    """(n, 2) corners and sizes of the tiles on the canvas, x first, and (n,) whether it is a mosaic's."""
    if tiles == 1:
        sizes = np.tile(np.array([[feed.width, feed.height]], np.int32), (len(draws), 1))
        return np.zeros_like(sizes), sizes, np.zeros(len(draws), bool)
    main = draws[::tiles]
    mosaic = main[:, crop_windows.MOSAIC] < feed.augment.mosaic
    # The point where the four meet, in the middle two fifths.
    x = (feed.width * (0.3 + 0.4 * main[:, crop_windows.MOSAIC_X])).astype(np.int32)
    y = (feed.height * (0.3 + 0.4 * main[:, crop_windows.MOSAIC_Y])).astype(np.int32)
    x, y = np.where(mosaic, x, np.int32(feed.width)), np.where(mosaic, y, np.int32(feed.height))
    nothing, right, below = np.zeros_like(x), feed.width - x, feed.height - y
    corners = np.stack([nothing, nothing, x, nothing, nothing, y, x, y], axis=1)
    sizes = np.stack([x, y, right, y, x, below, right, below], axis=1)
    return corners.reshape(-1, 2), sizes.reshape(-1, 2), np.repeat(mosaic, tiles)


def _boxes_of(rows: Any, table: Tables) -> tuple[Any, Any, Any]:
    first, after = table.first[rows], table.first[rows + 1]
    at = first[:, None] + np.arange(table.fullest, dtype=np.int64)
    at = np.where(at < after[:, None], at, len(table.labels) - 1)
    return table.boxes[at], table.labels[at], table.crowds[at]


def _place(rows: Any, boxes: Any, draws: Any, tile_n2: Any, mosaic: Any, feed: Feed, table: Tables) -> Any:
    augment = feed.augment
    sizes = table.sizes[rows]
    drawn_at_all = tile_n2.min(axis=1) > 0
    aspect = np.where(drawn_at_all, tile_n2[:, 0] / np.maximum(tile_n2[:, 1], 1), 1.0).astype(np.float32)
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
        window = np.where(mosaic[:, None], tiled, window)
    if table.fixed_ratios is not None:
        ratio = table.fixed_ratios[rows]
    else:
        ratio = placement.decode_ratio(placement.shrink_of(window, tile_n2), table.codecs[rows] == JPEG)
    flip = draws[:, crop_windows.FLIP] < augment.flip
    return placement.place(window, sizes, tile_n2, flip, ratio)


def _rows_of_instructions(rows: Any, placed: placement.Placement, table: Tables) -> Any:
    orientation = table.orientations[rows]
    ratio = placed.ratio[:, None]
    upright = (table.sizes[rows].astype(np.int32) + ratio - 1) // ratio
    window = decode.stored_window(placed.crop, upright, orientation)
    x1, y1, x2, y2 = placed.drawn.T
    left = np.where(placed.flip, placed.tile[:, 0] - x2, x1)
    mirror_x = decode.MIRRORED_X[orientation] != placed.flip
    flags = decode.TRANSPOSED[orientation], decode.MIRRORED_Y[orientation], mirror_x
    what, tile = (rows, table.codecs[rows], placed.ratio), placed.tile.T[::-1]
    columns = [*what, *window.T, y2 - y1, x2 - x1, y1, left, *flags, *tile]
    return np.stack([column.astype(np.int32) for column in columns], axis=1)


def _sent(first_tile: Any, feed: Feed, pixels: int) -> dict[str, Any]:
    size = feed.height, feed.width
    whole = (first_tile[:, TILE] == size).all(axis=1)  # else it is a mosaic's
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
    cut += np.tile(corners, (1, 2)).astype(np.float32)[:, None, :]
    # Columns that are never real, so that a dataset without a box has something to take.
    cut, labels, crowds = (_by_image(part, images, most) for part in (cut, labels, crowds | rest))
    shown = _by_image(kept | rest, images, most)
    areas = (cut[..., 2:] - cut[..., :2]).prod(axis=-1)
    at = np.argsort(-np.where(shown, areas, crop_windows.NO_BOX), axis=1, kind="stable")[:, :most]
    real = np.take_along_axis(shown, at, axis=1)
    chosen = np.take_along_axis(cut, at[..., None], axis=1)
    return {
        "boxes": np.where(real[..., None], chosen, np.float32(0.0)),
        "labels": np.where(real, np.take_along_axis(labels, at, axis=1), np.int32(0)),
        "real": real,
        "crowd": np.take_along_axis(crowds, at, axis=1) & real,
        "boxes_left_out": shown.sum(axis=1, dtype=np.int32) - real.sum(axis=1, dtype=np.int32),
    }


def _by_image(values: Any, images: int, most: int) -> Any:
    """(n, m, …) to (b, k·m + most, …)."""
    tail = values.shape[2:]
    together = values.reshape(images, values.shape[0] // images * values.shape[1], *tail)
    return np.pad(together, [(0, 0), (0, most), *([(0, 0)] * len(tail))])


def _colour(draws: Any, feed: Feed, tiles: int) -> Any:
    """(b, 4) what `device.recoloured` takes: added brightness, factors of contrast and saturation, turn of hue."""
    augment = feed.augment
    main = draws[::tiles]
    drawn = main[:, crop_windows.BRIGHTNESS : crop_windows.HUE + 1] * 2.0 - 1.0
    reach = np.array([augment.brightness, augment.contrast, augment.saturation, augment.hue], np.float32)
    return drawn * reach + np.array([0.0, 1.0, 1.0, 0.0], np.float32)
