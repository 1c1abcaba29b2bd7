"""Which boxes no anchor of a detector comes near: they are hardly learned, and nothing says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.records import Box

COVERED_IOU = 0.5  # what SSD and RetinaNet call a match
WORTH_SAYING = 0.02  # of all boxes; the best anchor is forced on a box anyway
_CHUNK_PAIRS = 4_000_000  # pairs of box and anchor at a time: about 200 MB of temporaries
_SHOWN = 5

SizedBoxes = Sequence[tuple[tuple[int, int], Box]]


@dataclass(frozen=True, slots=True)
class AnchorCoverage:
    """How much its best anchor overlaps each box. `names` are the classes; `corners` are in pixels of the input."""

    names: tuple[str, ...]
    corners: NDArray[np.float64]
    best: NDArray[np.float64]

    @property
    def boxes(self) -> int:
        return len(self.best)

    @property
    def uncovered(self) -> int:
        return int((self.best < COVERED_IOU).sum())

    @property
    def share(self) -> float:
        return self.uncovered / self.boxes if self.boxes else 0.0

    @property
    def by_class(self) -> dict[str, float]:
        """The share of each class that is not covered, the largest first."""
        every = Counter(self.names)
        missed = Counter(name for name, best in zip(self.names, self.best, strict=True) if best < COVERED_IOU)
        shares = {name: missed[name] / count for name, count in every.items()}
        return dict(sorted(shares.items(), key=lambda pair: (-pair[1], pair[0])))

    @property
    def median_side(self) -> float:
        """Of the boxes that are not covered: the square root of their area."""
        sides = self.corners[self.best < COVERED_IOU, 2:] - self.corners[self.best < COVERED_IOU, :2]
        return float(np.median(np.sqrt(sides.prod(axis=1)))) if len(sides) else 0.0

    def worst(self, input_px: int) -> list[str]:
        """A few of them, in words."""
        bad = np.flatnonzero(self.best < COVERED_IOU)
        sides = self.corners[:, 2:] - self.corners[:, :2]
        return [
            f"{self.names[at]!r} {sides[at, 0]:.0f}x{sides[at, 1]:.0f} px "
            f"at {input_px} px input: best overlap {self.best[at]:.2f}"
            for at in bad[np.argsort(self.best[bad], kind="stable")][:_SHOWN]
        ]


def best_overlaps(
    boxes_n4: NDArray[np.float64], anchors_a4: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """For each box the IoU with its best anchor. Chunked: the whole matrix can be larger than memory."""
    anchors = np.asarray(anchors_a4, np.float64)
    areas = (anchors[:, 2] - anchors[:, 0]) * (anchors[:, 3] - anchors[:, 1])
    best = np.zeros(len(boxes_n4))
    chunk = max(1, _CHUNK_PAIRS // max(1, len(anchors)))
    for start in range(0, len(boxes_n4), chunk):
        part = boxes_n4[start : start + chunk, None]
        wide = np.minimum(part[..., 2], anchors[:, 2]) - np.maximum(part[..., 0], anchors[:, 0])
        high = np.minimum(part[..., 3], anchors[:, 3]) - np.maximum(part[..., 1], anchors[:, 1])
        shared = np.clip(wide, 0, None) * np.clip(high, 0, None)
        own = (part[..., 2] - part[..., 0]) * (part[..., 3] - part[..., 1])
        best[start : start + chunk] = (shared / np.maximum(own + areas - shared, 1e-9)).max(
            axis=1, initial=0.0
        )
    return best


def coverage_of(
    names: Sequence[str], corners_n4: NDArray[np.float64], anchors_a4: NDArray[np.floating[Any]]
) -> AnchorCoverage:
    """Of boxes in pixels of the input."""
    return AnchorCoverage(tuple(names), corners_n4, best_overlaps(corners_n4, anchors_a4))


def boxes_in_input(
    sample: SizedBoxes, input_px: int, *, resizing: str = "stretch"
) -> tuple[list[str], NDArray[np.float64]]:
    """Class and corners in the input of the usable boxes of a sample of (image size, box).

    Images are brought to a square of `input_px` by stretching, or by "letterbox", which keeps their shape.
    """
    usable = [
        (size, box)
        for size, box in sample
        if box.width > 0 and box.height > 0 and not box.crowd and all(np.isfinite(box.corners))
    ]
    scaled = [_scaled(size, box, input_px, resizing) for size, box in usable]
    return [box.name for _, box in usable], np.array(scaled, float).reshape(-1, 4)


def _scaled(
    size: tuple[int, int], box: Box, input_px: int, resizing: str
) -> tuple[float, float, float, float]:
    wide, high = input_px / size[0], input_px / size[1]
    left = top = 0.0
    if resizing == "letterbox":
        wide = high = min(wide, high)
        left, top = (input_px - size[0] * wide) / 2, (input_px - size[1] * high) / 2
    return box.x1 * wide + left, box.y1 * high + top, box.x2 * wide + left, box.y2 * high + top
