"""Whether an exported file finds what the model finds. Numpy alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Images = Sequence[NDArray[np.uint8]]


class DetectionArrays(NamedTuple):
    """What one of the two finds in an image: (k, 4), (k,), (k,); the class is -1 past the last one."""

    boxes: Floats
    scores: Floats
    classes: NDArray[np.int64]


DetectFunction = Callable[[NDArray[np.uint8]], DetectionArrays]


class ExportDiffers(HoldfastError):
    """The written file does not find what the model finds."""

    slug = "export-differs"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Two detections are the same when their class is, and box and score are this near.

    `pixels` bounds each side of the box; where it is None, `overlap` bounds the boxes' IoU from below.
    Detections of a score under `least_score` are not asked for, and `share` of the others must have a partner:
    near-equal scores change places at the end of the list, and a box on the edge of suppression falls either
    way by the last bit.
    """

    pixels: float | None = 0.05
    overlap: float = 0.0
    score: float = 1e-3
    least_score: float = 0.0
    share: float = 0.99

    def __str__(self) -> str:
        place = f"within {self.pixels:g} pixels" if self.pixels is not None else f"at IoU {self.overlap:g}"
        of = f" scored {self.least_score:g} or more" if self.least_score else ""
        return f"{self.share:.0%} of the detections{of} have a partner {place} and {self.score:g} of score"


#: The same arithmetic in another engine: what is left is the order of additions.
FLOAT_TOLERANCE = Tolerance()
#: Weights and activations of eight bits.
INT8_TOLERANCE = Tolerance(pixels=None, overlap=0.75, score=0.15, least_score=0.3, share=0.85)


@dataclass(frozen=True, slots=True)
class ExportComparison:
    """Of all images: how many detections were asked for, how many have no partner, and how far partners are apart."""

    images: int
    detections: int
    unmatched: int
    boxes: float  # pixels
    scores: float
    tolerance: Tolerance


def compare(
    model: DetectFunction, written: DetectFunction, images: Images, tolerance: Tolerance
) -> ExportComparison:
    """Both on every image, either way round; raises where too many detections have no partner in the other."""
    asked, unmatched, boxes, scores = 0, 0, 0.0, 0.0
    for image in images:
        ours, theirs = model(image), written(image)
        for one, other in ((ours, theirs), (theirs, ours)):
            partners = _partners(one, other, tolerance)
            asked += partners.asked
            unmatched += partners.asked - len(partners.boxes)
            boxes = max(boxes, float(partners.boxes.max(initial=0.0)))
            scores = max(scores, float(partners.scores.max(initial=0.0)))
    if unmatched > (1.0 - tolerance.share) * asked:
        raise ExportDiffers(
            "the written file does not find what the model finds; it is not kept under its name",
            found=f"{asked - unmatched} of {asked} detections have a partner; wanted: {tolerance}",
            change="give --images like those the model was trained on; for int8, more of them",
        )
    return ExportComparison(len(images), asked, unmatched, boxes, scores, tolerance)


class _Partners(NamedTuple):
    asked: int
    boxes: Floats  # how far each detection that has a partner is from it
    scores: Floats


def _partners(one: DetectionArrays, other: DetectionArrays, tolerance: Tolerance) -> _Partners:
    wanted = (one.classes >= 0) & (one.scores >= tolerance.least_score)
    apart = np.abs(one.boxes[:, None] - other.boxes[None]).max(axis=-1, initial=0.0)
    score_apart = np.abs(one.scores[:, None] - other.scores[None])
    near = (
        apart <= tolerance.pixels if tolerance.pixels is not None else _iou(one, other) >= tolerance.overlap
    )
    same = (one.classes[:, None] == other.classes[None]) & near & (score_apart <= tolerance.score)
    matched = np.flatnonzero(wanted & same.any(axis=1))
    partner = np.where(same, apart, np.inf).argmin(axis=1)[matched] if len(other.scores) else matched
    return _Partners(int(wanted.sum()), apart[matched, partner], score_apart[matched, partner])


def _iou(one: DetectionArrays, other: DetectionArrays) -> Floats:
    low = np.maximum(one.boxes[:, None, :2], other.boxes[None, :, :2])
    high = np.minimum(one.boxes[:, None, 2:], other.boxes[None, :, 2:])
    shared = np.clip(high - low, 0.0, None).prod(axis=-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(axis=-1) for boxes in (one.boxes, other.boxes)]
    return np.asarray(shared / np.maximum(areas[0][:, None] + areas[1][None] - shared, 1e-9))
