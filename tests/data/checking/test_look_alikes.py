"""Mirror images in other splits, and with the boxes of the originals."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.data.checking.look_alikes import mirrored_in_another_split, mirrored_with_the_same_boxes
from holdfast.data.checking.statistics import _COLUMNS


def table(looks: Any, splits: Any, boxes: Any) -> Any:
    rows = np.zeros(len(looks), _COLUMNS)
    rows["look"], rows["split"], rows["boxes"], rows["looked"] = looks, splits, boxes, True
    return rows


def looks(count: int) -> Any:
    return np.random.default_rng(2).integers(0, 256, (count, 64)).astype(np.uint8)


def turned(some: Any) -> Any:
    return some.reshape(-1, 8, 8)[:, :, ::-1].reshape(-1, 64)


def test_mirror_images_in_another_split() -> None:
    known = looks(30)
    rows = table(np.concatenate((known, turned(known[4:9]))), [0] * 30 + [1] * 5, np.arange(35))
    assert list(mirrored_in_another_split(rows)) == [(30 + n, 4 + n) for n in range(5)]


def test_symmetric_scenes_and_other_images() -> None:
    half = looks(1).reshape(8, 8)
    symmetric = np.tile((half // 2 + half[:, ::-1] // 2).reshape(1, 64), (35, 1))
    symmetric[np.arange(35), np.arange(35)] += 20
    for given in (symmetric, looks(35), np.full((35, 64), 90)):
        assert list(mirrored_in_another_split(table(given, [0] * 30 + [1] * 5, np.arange(35)))) == []


def test_mirrored_copies_with_the_boxes_of_the_originals() -> None:
    known = looks(10)
    both = np.concatenate((known, turned(known)))
    kept = table(both, [0] * 20, [*range(1, 11), *range(1, 11)])
    assert list(mirrored_with_the_same_boxes(kept)) == [(n, n + 10) for n in range(10)]
    kept["boxes"] = [*range(10, 0, -1), *range(10, 0, -1)]  # a process numbers boxes as it likes
    assert list(mirrored_with_the_same_boxes(kept)) == [(n, n + 10) for n in range(10)]
    mirrored = table(both, [0] * 20, range(1, 21))
    copies = table(np.concatenate((known, known)), [0] * 20, [*range(1, 11), *range(1, 11)])
    for rows in (mirrored, copies):
        assert list(mirrored_with_the_same_boxes(rows)) == []
