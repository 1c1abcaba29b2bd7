"""Which part of an image is shown: flip, scale jitter, SSD's crop and expand are choices of a window.

A window is (x1, y1, x2, y2) in pixels of the upright image and may reach beyond it; what lies beyond is
filled with grey. Since every choice ends in one window, an image is cropped before it is decoded and
resized once. Shapes: n images, m boxes, t trials. All functions are pure; the draws are arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.pipeline.feed import Augment

TRIALS = 40  # as torchvision's RandomIoUCrop
OVERLAPS = np.array([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 2.0], np.float32)
# SSD (Liu et al. 2016, 2.2); 2.0 means "the whole image"
NO_BOX = np.float32(-1.0)

# The places of the draws in an image's row of random numbers.
FLIP, EXPAND, EXPAND_BY, EXPAND_X, EXPAND_Y, SCALE, SCALE_X, SCALE_Y, CROP, OVERLAP = range(10)
MOSAIC, MOSAIC_X, MOSAIC_Y, TILE_BY, TILE_X, TILE_Y = range(10, 16)
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(16, 20)
FIRST_TRIAL = 20
DRAWS = FIRST_TRIAL + 4 * TRIALS


def draws_of(augment: Augment) -> int:
    """How many of the draws are looked at."""
    return DRAWS if augment.crop else FIRST_TRIAL


def whole_image(sizes_n2: Any) -> Any:
    return np.concatenate([np.zeros_like(sizes_n2), sizes_n2], axis=-1)


def part_of(window: Any, width: Any, height: Any, at_x: Any, at_y: Any) -> Any:
    """A window of this size whose corner slides over `window` with at_x and at_y in [0, 1).

    It may be larger than `window`; it then slides so that it always contains it.
    """
    x1 = window[..., 0] + at_x * (window[..., 2] - window[..., 0] - width)
    y1 = window[..., 1] + at_y * (window[..., 3] - window[..., 1] - height)
    return np.stack([x1, y1, x1 + width, y1 + height], axis=-1)


def sides_of(window: Any) -> tuple[Any, Any]:
    return window[..., 2] - window[..., 0], window[..., 3] - window[..., 1]


def expanded(window: Any, draws: Any, augment: Augment) -> Any:
    """SSD's expand: with its chance, a window up to `expand_most` times as wide and as high."""
    by = 1.0 + draws[:, EXPAND_BY] * (augment.expand_most - 1.0)
    by = np.where(draws[:, EXPAND] < augment.expand, by, np.ones_like(by))
    width, height = sides_of(window)
    return part_of(window, width * by, height * by, draws[:, EXPAND_X], draws[:, EXPAND_Y])


def rescaled(window: Any, draws: Any, augment: Augment) -> Any:
    """Scale jitter: the image is drawn larger (a smaller window) or smaller (a larger one)."""
    least, most = augment.scale
    by = least + draws[:, SCALE] * (most - least)
    width, height = sides_of(window)
    return part_of(window, width / by, height / by, draws[:, SCALE_X], draws[:, SCALE_Y])


def grown_to(window: Any, aspect: Any) -> Any:
    """The smallest window of this aspect (width over height) around the same centre that holds `window`."""
    width, height = sides_of(window)
    new_width, new_height = np.maximum(width, height * aspect), np.maximum(height, width / aspect)
    return part_of(window, new_width, new_height, 0.5, 0.5)


def covering(window: Any, aspect: Any, draws: Any, least: float) -> Any:
    """For a tile of a mosaic: a window of this aspect inside `window`, so that the tile has no grey."""
    width, height = sides_of(window)
    by = least + draws[:, TILE_BY] * (1.0 - least)
    new_width, new_height = np.minimum(width, height * aspect) * by, np.minimum(height, width / aspect) * by
    return part_of(window, new_width, new_height, draws[:, TILE_X], draws[:, TILE_Y])


def iou_cropped(window: Any, boxes_nm4: Any, draws: Any, augment: Augment, aspect: Any | None) -> Any:
    """SSD's crop: the first trial that overlaps some box by the drawn IoU and holds its centre.

    With an `aspect` the trials are grown to it first, so that the rule holds for what is shown. When no
    trial passes, the window stays as it was. An image without boxes takes its first trial.
    """
    trials_nt4 = _trials(window, draws, augment.crop_least)
    width, height = sides_of(trials_nt4)
    passes = (width <= 2.0 * height) & (height <= 2.0 * width)
    if aspect is not None:
        trials_nt4 = grown_to(trials_nt4, aspect)
    least = OVERLAPS[(draws[:, OVERLAP] * len(OVERLAPS)).astype(np.int32)]
    real_nm = boxes_nm4[..., 2] > boxes_nm4[..., 0]
    fits_ntm = _overlaps(trials_nt4, boxes_nm4) >= least[:, None, None]
    fits_nt = (fits_ntm & real_nm[:, None, :] & _holds_centre(trials_nt4, boxes_nm4)).any(axis=2)
    passes &= fits_nt | ~real_nm.any(axis=1, keepdims=True)
    passes &= ((draws[:, CROP] < augment.crop) & (least <= 1.0))[:, None]
    chosen = trials_nt4[np.arange(len(passes)), passes.argmax(axis=1)]
    return np.where(passes.any(axis=1)[:, None], chosen, window)


def _trials(window: Any, draws: Any, least: float) -> Any:
    drawn = draws[:, FIRST_TRIAL:].reshape(-1, TRIALS, 4)
    width, height = sides_of(window)
    share = least + drawn[..., :2] * (1.0 - least)
    return part_of(
        window[:, None, :],
        share[..., 0] * width[:, None],
        share[..., 1] * height[:, None],
        drawn[..., 2],
        drawn[..., 3],
    )


def _overlaps(trials_nt4: Any, boxes_nm4: Any) -> Any:
    trials, boxes = trials_nt4[:, :, None, :], boxes_nm4[:, None, :, :]
    corner = np.minimum(trials[..., 2:], boxes[..., 2:]) - np.maximum(trials[..., :2], boxes[..., :2])
    shared = np.maximum(corner, 0.0).prod(axis=-1)
    areas = (trials[..., 2:] - trials[..., :2]).prod(-1) + (boxes[..., 2:] - boxes[..., :2]).prod(-1)
    return shared / np.maximum(areas - shared, 1e-9)


def _holds_centre(trials_nt4: Any, boxes_nm4: Any) -> Any:
    trials = trials_nt4[:, :, None, :]
    centres = ((boxes_nm4[..., :2] + boxes_nm4[..., 2:]) / 2.0)[:, None, :, :]
    return ((centres >= trials[..., :2]) & (centres < trials[..., 2:])).all(axis=-1)
