"""What is compared: the boxes that are there and the boxes that were found, as columns.

A box is `(x, y, width, height)` here, as in COCO's files, so that no rounding lies between a file and
its score. Images and categories are numbered by their place in `Truth.images` and `Truth.categories`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: COCO counts at most this many detections of an image in a category.
MAX_PER_IMAGE_AND_CATEGORY = 100


@dataclass(frozen=True, slots=True)
class GroundTruth:
    images: tuple[int | str, ...]
    categories: tuple[tuple[int | str, str], ...]  # (id, name)
    image: Ints
    category: Ints
    boxes: Floats
    crowd: Bools
    area: Floats

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.categories)


@dataclass(frozen=True, slots=True)
class Predictions:
    image: Ints
    category: Ints
    boxes: Floats
    score: Floats

    def __len__(self) -> int:
        return len(self.score)

    def only(self, wanted: Bools) -> Predictions:
        return Predictions(self.image[wanted], self.category[wanted], self.boxes[wanted], self.score[wanted])

    def that_count(self, most: int = MAX_PER_IMAGE_AND_CATEGORY) -> Predictions:
        """Without what COCO never looks at, so that memory follows what counts, not what a model printed."""
        order = np.lexsort((np.arange(len(self)), -self.score, self.category, self.image))
        image, category = self.image[order], self.category[order]
        first = np.ones(len(self), dtype=bool)
        first[1:] = (image[1:] != image[:-1]) | (category[1:] != category[:-1])
        starts = np.maximum.accumulate(np.where(first, np.arange(len(self)), 0))
        counted = np.zeros(len(self), dtype=bool)
        counted[order] = np.arange(len(self)) - starts < most
        return self.only(counted)


def by_image(truth: GroundTruth, found: Predictions) -> Iterator[tuple[int, Ints, Ints]]:
    """(image, rows of the truth, rows of the found, best score first) for every image with either."""
    truth_order = np.argsort(truth.image, kind="stable")
    found_order = np.lexsort((np.arange(len(found)), -found.score, found.image))
    truth_edges = np.searchsorted(truth.image[truth_order], np.arange(len(truth.images) + 1))
    found_edges = np.searchsorted(found.image[found_order], np.arange(len(truth.images) + 1))
    for image in range(len(truth.images)):
        there = truth_order[truth_edges[image] : truth_edges[image + 1]]
        seen = found_order[found_edges[image] : found_edges[image + 1]]
        if len(there) or len(seen):
            yield image, there, seen


def overlaps(found: Floats, truth: Floats, crowd: Bools) -> Floats:
    """IoU of each found box with each true one; for a crowd region, the share of the found box inside it."""
    low = np.maximum(found[:, None, :2], truth[None, :, :2])
    high = np.minimum(found[:, None, :2] + found[:, None, 2:], truth[None, :, :2] + truth[None, :, 2:])
    sides = np.clip(high - low, 0.0, None)
    shared = sides[..., 0] * sides[..., 1]
    own = (found[:, 2] * found[:, 3])[:, None]
    union = np.where(crowd[None, :], own, own + (truth[:, 2] * truth[:, 3])[None, :] - shared)
    return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=union > 0))
