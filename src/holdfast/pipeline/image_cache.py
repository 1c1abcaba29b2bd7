"""Images kept in memory after their first use: not at all, as encoded bytes, or decoded.

`budget` decides which, so that memory never grows past what it allows. The store is TensorFlow's own table,
filled by tf.data's threads; no Python runs there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.pipeline import batch_plan
from holdfast.pipeline.cache_budget import CacheKind
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.feed import Feed
from holdfast.pipeline.image_sizes import whole_image_ratios


class ImageCache:
    """Wraps reading and decoding with a look into the table. Made once a stream; `kind` never changes."""

    def __init__(self, kind: CacheKind = "none") -> None:
        self.kind = kind
        self._table: Any = None
        if kind != "none":
            self._table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.string, "")

    def ratios(self, columns: Columns, feed: Feed) -> np.ndarray | None:
        return whole_image_ratios(columns, feed) if self.kind == "decoded" else None

    def encoded(self, read: Callable[[], Any], row: Any) -> Any:
        return self._kept(row, read) if self.kind == "encoded" else read()

    def pixels(self, decode: Callable[[Any, Any], Any], order: Any, columns: Columns) -> Any:
        window = order[batch_plan.WINDOW]
        if self.kind != "decoded":
            return decode(order, window)
        row = tf.cast(order[batch_plan.ROW], tf.int64)
        stored = tf.gather(tf.constant(columns.stored_sizes), row)
        size = (stored + order[batch_plan.RATIO] - 1) // order[batch_plan.RATIO]
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
