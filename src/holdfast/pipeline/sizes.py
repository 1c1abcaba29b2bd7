"""How large a picture must stay for everything that may be done to it; NumPy only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holdfast.pipeline.columns import JPEG, Columns
from holdfast.pipeline.feed import MOST_AT_ONCE, PLAIN, Feed

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


# -- what is sent to the device, where the compiled step resizes ----------------------------------------

MOST_SENT = 4  # times the image's pixels: every window of a JPEG that keeps its aspect has fewer
SERVED = 0.95  # of the pictures that can be sent: room for the rest would be carried by every batch


def pixels_needed(columns: Columns, feed: Feed) -> np.ndarray:
    """(n,) the most pixels that a window of each picture is decoded to, or of its packed copy."""
    plain = replace(feed, augment=PLAIN)
    area = columns.sizes.astype(np.float64).prod(axis=1)
    # Where an enlargement is decoded at another ratio, the most are decoded just beyond the change.
    at_change = area * (2.0 / SMALLER_BY / shrink_at_most_zoom(columns, plain)) ** 2
    changes = whole_ratios(columns, feed) != whole_ratios(columns, plain)
    fixed = np.maximum(decoded_sizes(columns, plain).prod(axis=1), packed_sizes(columns, feed).prod(axis=1))
    return np.where(changes, np.ceil(at_change), fixed).astype(np.int64)


def sent_pixels(columns: Columns, feed: Feed) -> int:
    """The pixels in which a picture is sent: a function of the dataset and the feed, the same for all batches."""
    image = feed.height * feed.width
    needed = pixels_needed(columns, feed)
    can_be = needed[needed <= MOST_SENT * image]
    wanted = int(np.quantile(can_be, SERVED, method="higher")) if len(can_be) else 0
    return min(MOST_SENT * image, max(image, -(-wanted // 1024) * 1024))


def worth_sending(columns: Columns, feed: Feed) -> bool:
    """Whether at least half of the pictures can be sent as they are decoded, and a batch of them is not too large."""
    most = MOST_SENT * feed.height * feed.width
    return feed.batch * most <= MOST_AT_ONCE and bool(np.mean(pixels_needed(columns, feed) <= most) >= 0.5)
