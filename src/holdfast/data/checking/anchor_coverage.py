"""Which boxes no anchor of a detector comes near: they are never learned, and nothing says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.records import Box

COVERED_IOU = 0.5  # what SSD and RetinaNet call a match
WORTH_SAYING = 0.02  # of all boxes; the best anchor is forced on a box anyway
_CHUNK_PAIRS = 4_000_000  # pairs of box and anchor at a time: about 200 MB of temporaries


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


def uncovered_boxes(
    sample: Sequence[tuple[tuple[int, int], Box]],
    anchors_a4: NDArray[np.float32],
    input_px: int,
    *,
    resizing: str = "stretch",
) -> tuple[int, list[str]]:
    """How many boxes of a sample of (image size, box) no anchor overlaps by half, and the worst few.

    Images are brought to a square of `input_px` by stretching, or by "letterbox", which keeps their shape.
    """
    usable = [
        (size, box)
        for size, box in sample
        if box.width > 0 and box.height > 0 and all(np.isfinite(box.corners))
    ]
    if not usable:
        return 0, []
    scaled = np.array([_scaled(size, box, input_px, resizing) for size, box in usable])
    best = best_overlaps(scaled, anchors_a4)
    bad = np.flatnonzero(best < COVERED_IOU)
    shown = [
        f"{usable[at][1].name!r} {scaled[at, 2] - scaled[at, 0]:.0f}x{scaled[at, 3] - scaled[at, 1]:.0f} px "
        f"at {input_px} px input: best overlap {best[at]:.2f}"
        for at in bad[np.argsort(best[bad])][:5]
    ]
    return len(bad), shown


def _scaled(
    size: tuple[int, int], box: Box, input_px: int, resizing: str
) -> tuple[float, float, float, float]:
    wide, high = input_px / size[0], input_px / size[1]
    if resizing == "letterbox":
        wide = high = min(wide, high)
    return box.x1 * wide, box.y1 * high, box.x2 * wide, box.y2 * high
