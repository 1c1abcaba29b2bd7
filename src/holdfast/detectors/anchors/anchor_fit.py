"""Anchors fitted to a dataset: how well its boxes are covered, and shapes that cover them better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.data.checking.anchor_coverage import best_overlaps
from holdfast.detectors.anchors.anchor_defaults import Size, anchors_of, feature_sizes, shapes_of
from holdfast.detectors.anchors.grid import LevelShapes
from holdfast.detectors.anchors.letterbox import map_to_input
from holdfast.detectors.spec import DetectorSpec

Floats = NDArray[np.float64]

_MOST_BOXES = 1000  # to fit to before training


@dataclass(frozen=True, slots=True)
class Coverage:
    """`best` is each box's overlap with its best anchor."""

    best: Floats

    def share(self, overlap: float) -> float:
        return float((self.best >= overlap).mean()) if len(self.best) else 1.0

    @property
    def mean(self) -> float:
        return float(self.best.mean()) if len(self.best) else 1.0


def coverage(
    detector: str, backbone: str, size: Size, boxes_n4: Floats, shapes: LevelShapes | None = None
) -> Coverage:
    """How near the anchors come to boxes that are given in pixels of the input."""
    return Coverage(best_overlaps(boxes_n4, anchors_of(detector, backbone, size, shapes)))


def fit(detector: str, backbone: str, size: Size, boxes_n4: Floats, *, seed: int = 0) -> LevelShapes:
    """Shapes for each level in the number it has, so that the heads keep their form; never covering less.

    A box belongs to the coarsest level of which four cells fit along it, so that an anchor on the grid can
    come near; the sizes of a level's boxes are clustered by k-means with 1 - IoU as distance (Redmon & Farhadi
    2017, YOLO9000, section 2). A level keeps its given shapes where clusters do not raise the mean coverage.
    """
    given = shapes_of(detector, backbone, size)
    strides = [size[0] / rows for rows, _ in feature_sizes(detector, backbone, size)]
    sizes = boxes_n4[:, 2:] - boxes_n4[:, :2]
    side = np.sqrt(sizes.prod(axis=1))
    level_of_box = np.sum([side >= 4.0 * stride for stride in strides[1:]], axis=0)
    best = coverage(detector, backbone, size, boxes_n4, given).mean
    shapes = given
    for level, level_shapes in enumerate(given):
        own = sizes[level_of_box == level]
        if len(own) < len(level_shapes):
            continue
        tried = (*shapes[:level], _clustered(own, len(level_shapes), seed), *shapes[level + 1 :])
        mean = coverage(detector, backbone, size, boxes_n4, tried).mean
        if mean > best:
            best, shapes = mean, tried
    return shapes


def _clustered(sizes: Floats, count: int, seed: int) -> tuple[tuple[float, float], ...]:
    centres = _cluster(sizes, count, np.random.default_rng(seed))
    centres = centres[np.argsort(centres.prod(axis=1), kind="stable")]
    return tuple((round(float(w), 1), round(float(h), 1)) for w, h in centres)


def fit_if_better(
    detector: str, backbone: str, size: Size, boxes_n4: Floats, *, seed: int = 0
) -> LevelShapes | None:
    """Fitted shapes where they cover at least two boxes in a hundred more at half overlap, else None."""
    shapes = fit(detector, backbone, size, boxes_n4, seed=seed)
    old = coverage(detector, backbone, size, boxes_n4)
    new = coverage(detector, backbone, size, boxes_n4, shapes)
    return shapes if new.share(0.5) >= old.share(0.5) + 0.02 else None


def anchors_for_training(
    spec: DetectorSpec, boxes_n4: Floats, image_n2: Floats
) -> tuple[LevelShapes | None, str]:
    """Shapes fitted to boxes in pixels of their images, and what that gains, in words."""
    place_of = (spec.detector, spec.backbone, spec.input)
    boxes = to_input_pixels(boxes_n4.astype(float), image_n2, spec.input, spec.resizing)
    if not len(boxes):
        return None, "the detector's own anchors, as there are no boxes to fit others to"
    # Every so many-th box: more would change the shapes by a tenth of a pixel and take minutes.
    boxes = boxes[:: -(-len(boxes) // _MOST_BOXES)]
    shapes = fit(*place_of, boxes)
    old, new = coverage(*place_of, boxes).share(0.5), coverage(*place_of, boxes, shapes).share(0.5)
    return (
        shapes,
        f"anchors fitted to {len(boxes)} boxes, of which {new:.1%} are covered by half ({old:.1%} before)",
    )


def to_input_pixels(boxes_n4: Floats, image_n2: Floats, size: Size, rule: str) -> Floats:
    """Boxes of images, each with its image's (width, height), in pixels of the input."""
    rows = [
        map_to_input((int(width), int(height)), size, rule).to_input(box[None])
        for box, (width, height) in zip(boxes_n4, image_n2, strict=True)
    ]
    return np.concatenate(rows) if rows else np.zeros((0, 4))


def size_iou(a_n2: Floats, b_m2: Floats) -> Floats:
    """IoU of sizes laid on one corner."""
    shared = np.minimum(a_n2[:, None, 0], b_m2[None, :, 0]) * np.minimum(a_n2[:, None, 1], b_m2[None, :, 1])
    return np.asarray(shared / (a_n2.prod(axis=1)[:, None] + b_m2.prod(axis=1)[None, :] - shared))


def _cluster(sizes: Floats, count: int, rng: np.random.Generator, rounds: int = 100) -> Floats:
    centres = _spread_start(sizes, count, rng)
    nearest = np.full(len(sizes), -1)
    for _ in range(rounds):
        now = size_iou(sizes, centres).argmax(axis=1)
        if (now == nearest).all():
            break
        nearest = now
        for index in range(count):
            if (nearest == index).any():
                centres[index] = np.median(sizes[nearest == index], axis=0)
    return centres


def _spread_start(sizes: Floats, count: int, rng: np.random.Generator) -> Floats:
    centres = sizes[[rng.integers(len(sizes))]]
    while len(centres) < count:
        far = (1.0 - size_iou(sizes, centres).max(axis=1)) ** 2
        chance = far / far.sum() if far.sum() > 0 else None
        centres = np.concatenate([centres, sizes[[rng.choice(len(sizes), p=chance)]]])
    return centres.astype(np.float64)
