"""Images whose names differ only in their numbers, in the order of these: frames of a video, for example."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from holdfast.data.files.name_index import NameNumbers
from holdfast.data.files.packed_list import PackedList

SHORTEST = 3  # images of a series about which anything can be said
SORTED_AT_ONCE = 1 << 12  # names; the rest is merged
_NUMBERS = re.compile(r"\d+")
_PARTS = re.compile(r"(\d+)")

#: The number of a series, the place of a name in it, and the position of the name.
Placed = tuple[int, str, int]


def series_of(names: Iterable[str]) -> Iterator[Any]:
    """An array of positions for each series. What is in memory grows with the longest series alone."""
    import numpy as np

    numbers = NameNumbers()
    placed = (
        (numbers.number_of(_NUMBERS.sub("#", name)), by_number(name), at) for at, name in enumerate(names)
    )
    for _, members in groupby(_in_order(placed), key=itemgetter(0)):
        positions = np.fromiter((at for _, _, at in members), np.int64)
        if len(positions) >= SHORTEST:
            yield positions


def by_number(name: str) -> str:
    """A text that sorts as the numbers of the name do, among names that differ only in these: img_9 before img_10."""
    return "".join(map(_sortable, _PARTS.split(name)[1::2]))


def _sortable(number: str) -> str:
    """Its length first, then its digits; as it is written at last, so that 07 and 7 have an order."""
    digits = number.lstrip("0") if number.isascii() else ""
    return f"{chr(len(digits))}{digits}{number}\0"


def _in_order(placed: Iterator[Placed]) -> Iterator[Placed]:
    runs = []
    while run := sorted(islice(placed, SORTED_AT_ONCE)):
        runs.append(PackedList(run))
    return heapq.merge(*runs)
