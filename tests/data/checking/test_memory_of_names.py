"""What `check` keeps for each image while it puts names in order: little, in whatever way the images are named."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from holdfast.data.checking import look_alikes
from holdfast.data.checking.statistics import DatasetStatistics
from holdfast.data.files import packed_list
from holdfast.data.images.image_file import ImageFacts
from holdfast.data.records import Box, ImageRef, Record

MOST_BYTES = 100  # for each image more


def one_series(at: int) -> str:
    return f"train/{at // 1000:05d}/img_{at:08d}.jpg"


def names_of_their_own(at: int) -> str:
    return f"train/{''.join('abcdefghij'[int(digit)] for digit in f'{at:08d}')}.jpg"


def versions(at: int) -> str:
    return f"train/img_{at // 3}_jpg.rf.{at:032x}.jpg"


@pytest.mark.parametrize("splits", [1, 2])
@pytest.mark.parametrize("named", [one_series, names_of_their_own, versions])
def test_an_image_more(named: Callable[[int], str], splits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_list, "IN_MEMORY_BYTES", 1 << 12)
    monkeypatch.setattr(look_alikes, "MOST_PRODUCTS", 1 << 18)
    few, many = 4_000, 12_000
    less, more = (peak(named, count, splits) for count in (few, many))
    assert (more - less) / (many - few) < MOST_BYTES


def peak(named: Callable[[int], str], count: int, splits: int) -> int:
    """Of the memory that finding problems takes, with images half of which have equal boxes."""
    draw = np.random.default_rng(1)
    statistics = DatasetStatistics()
    for at in range(count):
        corner = float(at // 2)
        boxes = (Box(0.0, 0.0, 1.0 + corner, 9.0, "cat"), Box(1.0, 1.0, 2.0 + corner, 9.0, "dog"))
        split = "val" if at % 8 < splits - 1 else "train"
        record = Record(str(at), named(at), ImageRef(named(at)), boxes, split)
        look = draw.bytes(64).hex()
        statistics.add(record, ImageFacts(width=640, height=480, digest=f"{at + 1:064x}"[::-1], look=look))
    tracemalloc.start()
    try:
        for _ in statistics.problems({"cat": 0, "dog": 1}, "d"):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
