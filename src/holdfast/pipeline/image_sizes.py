"""How large an image must stay for everything that may be done to it; NumPy only."""

from __future__ import annotations

import numpy as np

from holdfast.pipeline.dataset_columns import JPEG, Columns
from holdfast.pipeline.feed import MOST_AT_ONCE, Feed

# A JPEG may be decoded this much smaller than it is drawn, so that 4000 px at 1/8 serve 512: the loss of
# sharpness, under 4 %, is less than that of the resize which it spares.
SMALLER_BY = 1.04


def shrink_at_most_zoom(columns: Columns, feed: Feed) -> np.ndarray:
    """(n,) how many pixels of each image fall on one of the image at the largest enlargement."""
    sides = columns.sizes / np.array([feed.width, feed.height], np.float64)
    fitted = sides.max(axis=1) if feed.fit == "letterbox" else sides.min(axis=1)
    return fitted / feed.augment.zoom_most


def whole_image_ratios(columns: Columns, feed: Feed) -> np.ndarray:
    """(n,) the ratio at which a whole image still serves every augmentation."""
    ratios = _ratios(shrink_at_most_zoom(columns, feed))
    return np.where(columns.codecs == JPEG, ratios, 1).astype(np.int32)


def _ratios(shrink: np.ndarray) -> np.ndarray:
    """As `placement.decode_ratio` has them."""
    most = shrink * SMALLER_BY
    return np.select([most >= 8, most >= 4, most >= 2], [8, 4, 2], 1)


def packed_sizes(columns: Columns, feed: Feed) -> np.ndarray:
    """(n, 2) upright width and height at which an image still serves every augmentation; never larger."""
    by = np.minimum(1.0, 1.0 / shrink_at_most_zoom(columns, feed))[:, None]
    return np.maximum(1, np.rint(columns.sizes * by)).astype(np.int64)


def decoded_sizes(columns: Columns, feed: Feed) -> np.ndarray:
    ratios = whole_image_ratios(columns, feed)[:, None]
    return -(-columns.stored_sizes.astype(np.int64) // ratios)


# -- what is sent to the device, where the compiled step resizes ----------------------------------------

MAX_SENT_FACTOR = (
    4  # times the image's pixels: what has more is shrunk to less than half, and averaged on the host
)
SENT_SHARE = 0.95  # of the windows that can be sent: room for the rest would be carried by every batch
ZOOMS, LOOKED_AT = 17, 10_000  # of images, evenly


def windows_sent(columns: Columns, feed: Feed) -> np.ndarray:
    """(n, z) the pixels to which windows of the images are decoded, from the smallest to the largest enlargement:
    of each image or of its packed copy, whichever has more; NaN where both have to be averaged."""
    some = _sampled_rows(columns)
    copies = _windows(packed_sizes(columns, feed)[some], np.ones(len(columns.sizes[some]), bool), feed)
    return np.fmax(_windows(columns.sizes[some], columns.codecs[some] == JPEG, feed), copies)


def _sampled_rows(columns: Columns) -> slice:
    return slice(None, None, max(1, len(columns.sizes) // LOOKED_AT))


def _windows(sizes_n2: np.ndarray, jpeg_n: np.ndarray, feed: Feed) -> np.ndarray:
    augment = feed.augment
    least = min(augment.scale[0], 1.0) / (augment.expand_most if augment.expand else 1.0)
    zooms = np.geomspace(least, augment.zoom_most, ZOOMS)
    sides = sizes_n2 / np.array([feed.width, feed.height], np.float64)
    most = sides.max(axis=1)
    shrink = (most if feed.fit == "letterbox" else sides.min(axis=1))[:, None] / zooms
    ratios = np.where(jpeg_n[:, None], _ratios(shrink), 1)
    shown = sizes_n2[:, None] / np.maximum(zooms, 1.0)[:, None]
    pixels = np.ceil(shown / ratios[..., None]).prod(axis=-1)
    return np.where(most[:, None] / zooms / ratios > 2.0, np.nan, pixels)


def sent_pixels(columns: Columns, feed: Feed) -> int:
    """The pixels in which an image is sent: a function of the dataset and the feed, the same for all batches."""
    image = feed.height * feed.width
    windows = windows_sent(columns, feed)
    can_be = windows[windows <= MAX_SENT_FACTOR * image]
    wanted = int(np.quantile(can_be, SENT_SHARE, method="higher")) if len(can_be) else 0
    return min(MAX_SENT_FACTOR * image, max(image, -(-wanted // 1024) * 1024))


def worth_sending(columns: Columns, feed: Feed) -> bool:
    """Whether at least half of the windows can be sent as they are decoded, and a batch of them is not too large."""
    some, most = _sampled_rows(columns), MAX_SENT_FACTOR * feed.height * feed.width
    windows = _windows(columns.sizes[some], columns.codecs[some] == JPEG, feed)
    return feed.batch * most <= MOST_AT_ONCE and bool(np.mean(windows <= most) >= 0.5)
