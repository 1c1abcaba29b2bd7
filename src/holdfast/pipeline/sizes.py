"""How large a picture must stay for everything that may be done to it; NumPy only."""

from __future__ import annotations

import numpy as np

from holdfast.pipeline.columns import JPEG, Columns
from holdfast.pipeline.feed import Feed

# A JPEG may be decoded this much smaller than it is drawn, so that 4000 px at 1/8 serve 512: the loss of
# sharpness, under 4 %, is less than that of the resize which it spares.
SMALLER_BY = 1.04


def shrink_at_most_zoom(columns: Columns, feed: Feed) -> np.ndarray:
    """(n,) how many pixels of each picture fall on one of the image at the largest enlargement."""
    sides = columns.sizes / np.array([feed.width, feed.height], np.float64)
    fitted = sides.max(axis=1) if feed.fit == "letterbox" else sides.min(axis=1)
    return fitted / feed.augment.zoom_most


def whole_ratios(columns: Columns, feed: Feed) -> np.ndarray:
    """(n,) the ratio at which a whole picture still serves every augmentation."""
    shrink = shrink_at_most_zoom(columns, feed) * SMALLER_BY
    ratios = np.select([shrink >= 8, shrink >= 4, shrink >= 2], [8, 4, 2], 1)
    return np.where(columns.codecs == JPEG, ratios, 1).astype(np.int32)


def packed_sizes(columns: Columns, feed: Feed) -> np.ndarray:
    """(n, 2) upright width and height at which a picture still serves every augmentation; never larger."""
    by = np.minimum(1.0, 1.0 / shrink_at_most_zoom(columns, feed))[:, None]
    return np.maximum(1, np.rint(columns.sizes * by)).astype(np.int64)


def decoded_sizes(columns: Columns, feed: Feed) -> np.ndarray:
    ratios = whole_ratios(columns, feed)[:, None]
    return -(-columns.stored_sizes.astype(np.int64) // ratios)
