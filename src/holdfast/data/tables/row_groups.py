"""Rows of a long table by the image that each is of: sorted on disk, in blocks, by counting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from holdfast.data.files.packed_list import writable

BLOCK = 1 << 16


def blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, BLOCK):
        yield slice(start, min(count, start + BLOCK))


class RowGroups:
    """Of the n-th image the places of its rows, in the order of the table. `groups`: of each row its image, or -1."""

    def __init__(self, groups: Any, count: int) -> None:
        self._groups = groups
        self._starts = np.frombuffer(writable(8 * (count + 1)), "<i8")
        self._order = np.frombuffer(writable(8 * len(groups)), "<i8")
        self._sort()

    def _sort(self) -> None:
        """Counts, then puts each block where it belongs: only a block is in memory."""
        for _, found, counts in self._runs():
            self._starts[found + 1] += counts
        np.cumsum(self._starts, out=self._starts)
        following = np.frombuffer(writable(self._starts.nbytes), "<i8")
        for block in blocks(len(following)):
            following[block] = self._starts[block]
        for places, found, counts in self._runs():
            rank = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
            self._order[np.repeat(following[found], counts) + rank] = places
            following[found] += counts

    def _runs(self) -> Iterator[tuple[Any, Any, Any]]:
        """Of each block: the places of its rows by image, the images, and how many each has."""
        for block in blocks(len(self._groups)):
            part = self._groups[block]
            order = np.argsort(part, kind="stable")
            order = order[part[order] >= 0]
            found, counts = np.unique(part[order], return_counts=True)
            yield block.start + order, found, counts

    def of_images(self, start: int, stop: int) -> tuple[Any, list[int]]:
        """The places of these images' rows one after another, and where among them each image's begin, and the end."""
        bounds = self._starts[start : stop + 1]
        return self._order[bounds[0] : bounds[-1]], (bounds - bounds[0]).tolist()
