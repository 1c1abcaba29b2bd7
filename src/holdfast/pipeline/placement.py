"""A window made exact: whole pixels to decode, whole pixels to draw, and where each box lands.

Boxes are moved by the very mapping that the pixels take, after rounding, so that a box and the object under
it never part. Shapes: n images, m boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.pipeline.image_sizes import SMALLER_BY


@dataclass(frozen=True)
class Placement:
    """Where the pixels come from (upright, at 1/ratio) and where in the tile they go, as int32 (n, 4)."""

    ratio: Any  # (n,) 1, 2, 4 or 8
    crop: Any  # (n, 4) x1, y1, x2, y2 in pixels of the upright image decoded at 1/ratio
    drawn: Any  # (n, 4) x1, y1, x2, y2 in pixels of the tile, before the flip
    flip: Any  # (n,) bool
    tile: Any  # (n, 2) width, height of the tile


def decode_ratio(shrink_n: np.ndarray, scalable_n: np.ndarray) -> np.ndarray:
    """The largest of 1, 2, 4, 8 by which an image may be decoded smaller, when drawn at 1/shrink."""
    most = np.where(scalable_n, shrink_n * SMALLER_BY, np.ones_like(shrink_n))
    by_2, by_4, by_8 = ((most >= power).astype(np.int32) for power in (2.0, 4.0, 8.0))
    return 1 + by_2 + 2 * by_4 + 4 * by_8


def shrink_of(window_n4: np.ndarray, tile_n2: np.ndarray) -> np.ndarray:
    """How many pixels of the image fall on one of the tile, in the direction where they are fewest."""
    sides = window_n4[:, 2:] - window_n4[:, :2]
    return (sides / np.maximum(tile_n2, 1).astype(np.float32)).min(axis=1)


def place(window_n4: Any, sizes_n2: Any, tile_n2: Any, flip_n: Any, ratio_n: Any) -> Placement:
    """Whole pixels for a window of upright images of these sizes, drawn on tiles of these sizes."""
    tile = tile_n2.astype(np.float32)
    scale_n2 = tile / (window_n4[:, 2:] - window_n4[:, :2])
    step = ratio_n.astype(np.float32)[:, None]
    low = np.floor(np.clip(window_n4[:, :2], 0.0, sizes_n2 - 1.0) / step)
    high = np.ceil(np.clip(window_n4[:, 2:], 1.0, sizes_n2) / step)
    high = np.maximum(high, low + 1.0)
    drawn_low = np.rint((low * step - window_n4[:, :2]) * scale_n2)
    drawn_high = np.rint((high * step - window_n4[:, :2]) * scale_n2)
    drawn_low = np.clip(drawn_low, 0.0, np.maximum(tile - 1.0, 0.0))
    drawn_high = np.clip(drawn_high, np.minimum(drawn_low + 1.0, tile), tile)
    as_int = [part.astype(np.int32) for part in (low, high, drawn_low, drawn_high)]
    return Placement(
        ratio_n,
        np.concatenate(as_int[:2], 1),
        np.concatenate(as_int[2:], 1),
        flip_n,
        tile_n2.astype(np.int32),
    )


def scale_and_shift(placed: Placement) -> np.ndarray:
    """(n, 4): x_scale, y_scale, x_shift, y_shift of upright pixels to pixels of the tile, flip included."""
    step = placed.ratio.astype(np.float32)[:, None]
    crop, drawn = placed.crop.astype(np.float32), placed.drawn.astype(np.float32)
    scale = (drawn[:, 2:] - drawn[:, :2]) / ((crop[:, 2:] - crop[:, :2]) * step)
    shift = drawn[:, :2] - crop[:, :2] * step * scale
    sign = np.where(placed.flip, np.float32(-1.0), np.float32(1.0))
    mirrored = placed.tile[:, 0].astype(np.float32) - shift[:, 0]
    x_shift = np.where(placed.flip, mirrored, shift[:, 0])
    return np.stack([scale[:, 0] * sign, scale[:, 1], x_shift, shift[:, 1]], axis=1)


def map_boxes(boxes_nm4: Any, mapping_n4: Any) -> Any:
    """Boxes of the upright image, on the tile; not yet clipped."""
    scale, shift = mapping_n4[:, None, :2], mapping_n4[:, None, 2:]
    one, other = boxes_nm4[..., :2] * scale + shift, boxes_nm4[..., 2:] * scale + shift
    return np.concatenate([np.minimum(one, other), np.maximum(one, other)], axis=-1)


def clip_to_visible(moved_nm4: Any, placed: Placement) -> tuple[Any, Any, Any]:
    """The boxes cut to what is drawn; which are kept; which are only a rest to be ignored.

    A box is kept when its centre is drawn (SSD's rule) and, if it was cut, a pixel of it is left each way. One
    whose centre is cut away but that still shows is handed on as a region to ignore: neither an object nor
    background.
    """
    drawn = placed.drawn.astype(np.float32)
    width = placed.tile[:, 0].astype(np.float32)
    left = np.where(placed.flip, width - drawn[:, 2], drawn[:, 0])
    right = np.where(placed.flip, width - drawn[:, 0], drawn[:, 2])
    low = np.stack([left, drawn[:, 1]], axis=1)[:, None, :]
    high = np.stack([right, drawn[:, 3]], axis=1)[:, None, :]
    cut = np.concatenate(
        [np.clip(moved_nm4[..., :2], low, high), np.clip(moved_nm4[..., 2:], low, high)], axis=-1
    )
    shows = (cut[..., 2:] - cut[..., :2] >= 1.0).all(axis=-1)
    centre = (moved_nm4[..., :2] + moved_nm4[..., 2:]) / 2.0
    inside = ((centre >= low) & (centre <= high)).all(axis=-1)
    uncut = (np.abs(cut - moved_nm4) < 1e-3).all(axis=-1)
    real = (moved_nm4[..., 2:] > moved_nm4[..., :2]).all(axis=-1)  # a tile of no height draws nothing
    return cut, inside & (shows | uncut) & real, shows & ~inside & real
