"""Pictures kept in memory after their first use: not at all, as encoded bytes, or decoded.

What to keep is decided before the first batch from sizes that are known by then, so memory never grows past
the budget. The store is TensorFlow's own table, filled by tf.data's threads; no Python runs there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from holdfast.data.storage import is_url
from holdfast.pipeline import plan
from holdfast.pipeline.columns import JPEG, Columns
from holdfast.pipeline.feed import Feed
from holdfast.pipeline.machine import free_memory_bytes
from holdfast.pipeline.placement import SMALLER_BY

Kind = Literal["none", "encoded", "decoded"]
SHARE = 0.5  # of the free memory: the rest is for the model, the batches under way and the page cache
OVERHEAD_BYTES = 256  # of one entry of the table, measured on TensorFlow 2.21


@dataclass(frozen=True, slots=True)
class Decision:
    """What is kept, and the sentence that says why."""

    kind: Kind
    why: str
    pack: bool = False  # keeping nothing, while a packed copy on the disk would serve


def decide(
    *, encoded_bytes: int, decoded_bytes: int, budget_bytes: int, remote: bool, packing_saves: float
) -> Decision:
    """Decoded pictures when all fit; else encoded ones from remote storage when those fit; else none.

    Local files are left to the kernel's page cache, which does the same and gives the memory back.
    `packing_saves` is the share of the pixels that a packed copy would spare.
    """
    has = f"{_mib(budget_bytes)} may be used"
    if decoded_bytes <= budget_bytes:
        return Decision("decoded", f"all pictures, decoded, take {_mib(decoded_bytes)}; {has}")
    if remote and encoded_bytes <= budget_bytes:
        return Decision("encoded", f"the storage is remote, and all files take {_mib(encoded_bytes)}; {has}")
    pack = packing_saves >= 0.5
    rest = "; a packed copy on the disk would serve" if pack else ""
    return Decision("none", f"all pictures, decoded, take {_mib(decoded_bytes)}; {has}{rest}", pack)


def decide_for(columns: Columns, feed: Feed, budget_bytes: int | None = None) -> Decision:
    """The same for a dataset on this machine."""
    decoded = int(_decoded_sizes(columns, feed).prod(axis=1).sum()) * 3
    pixels = columns.stored_sizes.astype(np.int64).prod(axis=1)
    return decide(
        encoded_bytes=int(columns.lengths.sum()) + OVERHEAD_BYTES * len(columns),
        decoded_bytes=decoded + OVERHEAD_BYTES * len(columns),
        budget_bytes=int(free_memory_bytes() * SHARE) if budget_bytes is None else budget_bytes,
        remote=any(is_url(path) for path in columns.paths[:1]),
        packing_saves=1.0 - float(packed_sizes(columns, feed).prod(axis=1).sum()) / max(1.0, float(pixels.sum())),
    )


class PictureCache:
    """Wraps reading and decoding with a look into the table. Made once a stream; `kind` never changes."""

    def __init__(self, kind: Kind = "none") -> None:
        self.kind = kind
        self._table = None
        if kind != "none":
            self._table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.string, "")

    def ratios(self, columns: Columns, feed: Feed) -> np.ndarray | None:
        return whole_ratios(columns, feed) if self.kind == "decoded" else None

    def encoded(self, read: Callable[[], Any], row: Any) -> Any:
        return self._kept(row, read) if self.kind == "encoded" else read()

    def pixels(self, decode: Callable[[Any, Any], Any], order: Any, columns: Columns) -> Any:
        window = order[plan.WINDOW]
        if self.kind != "decoded":
            return decode(order, window)
        row = tf.cast(order[plan.ROW], tf.int64)
        stored = tf.gather(tf.constant(columns.stored_sizes), row)
        size = (stored + order[plan.RATIO] - 1) // order[plan.RATIO]
        whole = tf.stack([0, 0, size[1], size[0]])
        kept = self._kept(row, lambda: tf.io.serialize_tensor(decode(order, whole)))
        image = tf.ensure_shape(tf.io.parse_tensor(kept, tf.uint8), [None, None, 3])
        return tf.slice(image, [window[0], window[1], 0], [window[2], window[3], 3])

    def _kept(self, row: Any, make: Callable[[], Any]) -> Any:
        found = self._table.lookup(row)

        def made() -> Any:
            value = make()
            with tf.control_dependencies([self._table.insert(row, value)]):
                return tf.identity(value)

        return tf.cond(tf.strings.length(found) == 0, made, lambda: found)


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


def _decoded_sizes(columns: Columns, feed: Feed) -> np.ndarray:
    ratios = whole_ratios(columns, feed)[:, None]
    return -(-columns.stored_sizes.astype(np.int64) // ratios)


def _mib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
