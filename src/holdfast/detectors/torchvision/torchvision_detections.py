"""torchvision's ways from head outputs to detections: what is cut before suppression, and by which threshold.

Overlaps are compared as they are, not on a grid: the point is to find what torchvision finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from keras import ops

from holdfast.detectors.ops.batched_gather import gather_rows
from holdfast.detectors.ops.boxes import clip, decode
from holdfast.detectors.ops.nms import Detections, first_kept, keep_mask, padded

Tensor = Any

#: (box, class) pairs of all regions that take part in Faster R-CNN's suppression: torchvision's take all above 0.05.
MOST_PAIRS = 2000


def best_of_each_class(
    boxes_ba4: Tensor,
    scores_bac: Tensor,
    *,
    score_above: float,
    overlap_above: float,
    candidates: int,
    size: int,
) -> Detections:
    """SSD's: the `candidates` best of each class are suppressed, and the `size` best of all classes kept."""
    classes = scores_bac.shape[2]
    scores, index = ops.top_k(ops.transpose(scores_bac, (0, 2, 1)), min(candidates, scores_bac.shape[1]))
    most = scores.shape[2]
    boxes = gather_rows(boxes_ba4, ops.reshape(index, (-1, classes * most)))
    boxes = ops.reshape(boxes, (-1, most, 4))
    scores = ops.reshape(scores, (-1, most))
    kept = keep_mask(boxes, scores > score_above, overlap_above, rounded=False)
    label = ops.repeat(ops.arange(classes, dtype="int32"), most)
    every = (-1, classes * most)
    return _best(
        ops.reshape(boxes, (*every, 4)), ops.reshape(scores, every), label, ops.reshape(kept, every), size
    )


def best_of_each_level(
    levels: list[tuple[Tensor, Tensor]],
    anchors: list[Any],
    input_size: tuple[int, int],
    *,
    score_above: float,
    overlap_above: float,
    candidates: int,
    size: int,
) -> Detections:
    """RetinaNet's: of each level's (logits, offsets) the `candidates` best pairs of an anchor and a class."""
    boxes, scores, labels = [], [], []
    for (logits, offsets), level in zip(levels, anchors, strict=True):
        classes = logits.shape[2]
        every = ops.reshape(ops.sigmoid(logits), (-1, logits.shape[1] * classes))
        best, pair = ops.top_k(every, min(candidates, every.shape[1]))
        pair = ops.cast(pair, "int32")
        corner = ops.take(ops.convert_to_tensor(level), pair // classes, axis=0)
        boxes.append(clip(decode(gather_rows(offsets, pair // classes), corner), *input_size))
        scores.append(best)
        labels.append(pair % classes)
    found = (ops.concatenate(part, axis=1) for part in (boxes, scores, labels))
    return suppressed(*found, score_above=score_above, overlap_above=overlap_above, size=size)


def best_of_regions(
    boxes_brc4: Tensor, scores_brc: Tensor, *, score_above: float, overlap_above: float, size: int
) -> Detections:
    """Faster R-CNN's: all pairs of a region and a class, each class with a box of its own."""
    regions, classes = scores_brc.shape[1:]
    scores, pair = ops.top_k(
        ops.reshape(scores_brc, (-1, regions * classes)), min(MOST_PAIRS, regions * classes)
    )
    boxes = gather_rows(ops.reshape(boxes_brc4, (-1, regions * classes, 4)), pair)
    sides = ops.min(boxes[..., 2:] - boxes[..., :2], axis=-1)
    scores = ops.where(sides >= 1e-2, scores, 0.0)
    return suppressed(
        boxes, scores, ops.cast(pair, "int32") % classes,
        score_above=score_above, overlap_above=overlap_above, size=size,
    )  # fmt: skip


def suppressed(
    boxes_bk4: Tensor,
    scores_bk: Tensor,
    label_bk: Tensor,
    *,
    score_above: float,
    overlap_above: float,
    size: int,
) -> Detections:
    """Greedy suppression within each class, of candidates in any order."""
    scores, order = ops.top_k(scores_bk, scores_bk.shape[1])
    boxes, label = gather_rows(boxes_bk4, order), gather_rows(label_bk, order)
    kept = keep_mask(boxes, scores > score_above, overlap_above, label, rounded=False)
    index, real = first_kept(kept, size)
    return _shown(boxes, scores, label, index, real, size)


def _best(boxes: Tensor, scores: Tensor, label_k: Tensor, kept: Tensor, size: int) -> Detections:
    best, index = ops.top_k(ops.where(kept, scores, -1.0), min(size, scores.shape[1]))
    label = ops.broadcast_to(label_k[None], ops.shape(scores))
    return _shown(boxes, scores, label, index, best >= 0.0, size)


def _shown(
    boxes: Tensor, scores: Tensor, label: Tensor, index: Tensor, real: Tensor, size: int
) -> Detections:
    found = Detections(
        ops.where(real[..., None], gather_rows(boxes, index), 0.0),
        ops.where(real, gather_rows(scores, index), 0.0),
        ops.where(real, gather_rows(label, index), -1),
    )
    return padded(found, size)


def image_by_image(find: Callable[[list[Tensor]], Detections], parts: list[Tensor]) -> Detections:
    """Suppression compares every candidate with every other: of one image at a time, as memory goes."""
    if parts[0].shape[0] == 1:
        return find(parts)

    def of_one(one: list[Tensor]) -> tuple[Tensor, ...]:
        return tuple(part[0] for part in find([part[None] for part in one]))

    return Detections(*ops.map(of_one, parts))


def torch_level_of(boxes: Tensor, levels: int, *, finest: int) -> Tensor:
    """The pyramid level of each region, from 0 (Lin et al. 2017, FPN, equation 1); `finest` is the first's."""
    sides = ops.maximum(boxes[..., 2:] - boxes[..., :2], 0.0)
    size = ops.sqrt(sides[..., 0] * sides[..., 1])
    level = ops.floor(4.0 + ops.log(ops.maximum(size, 1e-9) / 224.0) / math.log(2.0) + 1e-6)
    return ops.cast(ops.clip(level, finest, finest + levels - 1) - finest, "int32")
