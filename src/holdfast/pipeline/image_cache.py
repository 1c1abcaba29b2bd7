"""Images kept in memory after their first use: not at all, as encoded bytes, or decoded.

`cache_budget` decides which, so that memory never grows past what it allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.pipeline.cache_budget import CacheKind
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.feed import Feed
from holdfast.pipeline.image_sizes import whole_image_ratios


class ImageCache:
    """Wraps reading and decoding with a look into the table. Made once a stream; `kind` never changes.

    Two threads that need the same image at once both make it, and keep one.
    """

    def __init__(self, kind: CacheKind = "none") -> None:
        self.kind = kind
        self._kept: dict[int, Any] = {}

    def ratios(self, columns: Columns, feed: Feed) -> np.ndarray | None:
        return whole_image_ratios(columns, feed) if self.kind == "decoded" else None

    def encoded(self, row: int, read: Callable[[], Any]) -> Any:
        """`read` gives memory that is used again: what is kept is a copy."""
        if self.kind != "encoded":
            return read()
        if row not in self._kept:
            self._kept[row] = bytes(read())
        return self._kept[row]

    def decoded(self, row: int, decode: Callable[[], np.ndarray]) -> np.ndarray:
        if self.kind != "decoded":
            return decode()
        if row not in self._kept:
            self._kept[row] = decode().copy()
        kept: np.ndarray = self._kept[row]
        return kept
