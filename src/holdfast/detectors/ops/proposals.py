"""From the region proposal network's outputs to a fixed number of regions (Ren et al. 2015; Lin et al. 2017, FPN)."""

from __future__ import annotations

from typing import Any

from keras import ops

from holdfast.detectors.ops.batched_gather import gather_rows
from holdfast.detectors.ops.boxes import clip, decode
from holdfast.detectors.ops.nms import keep_mask

Tensor = Any


def propose(
    objectness: list[Tensor],
    offsets: list[Tensor],
    anchors: list[Tensor],
    input_size: tuple[int, int],
    *,
    per_level: int,
    size: int,
    overlap_above: float = 0.7,
    smallest: float = 1e-2,
    objectness_above: float = 0.0,
    rounded: bool = True,
) -> tuple[Tensor, Tensor]:
    """The `size` best regions (b, size, 4) and which of them are real.

    The `per_level` best of each level are suppressed within their level; all levels are padded to the same
    number, so that suppression is one call over (b x levels). Regions with a side below `smallest` pixels, or of a
    probability below `objectness_above`, are left out.
    """
    boxes, scores = [], []
    for level_scores, level_offsets, level_anchors in zip(objectness, offsets, anchors, strict=True):
        take = min(per_level, level_scores.shape[1])
        best, index = ops.top_k(level_scores, take)
        corner = ops.take(ops.convert_to_tensor(level_anchors), index, axis=0)
        region = clip(decode(gather_rows(level_offsets, index), corner), *input_size)
        boxes.append(ops.pad(region, ((0, 0), (0, per_level - take), (0, 0))))
        scores.append(ops.pad(best, ((0, 0), (0, per_level - take)), constant_values=-1e9))
    levels = len(boxes)
    stacked = ops.reshape(ops.stack(boxes, axis=1), (-1, per_level, 4))
    score = ops.reshape(ops.stack(scores, axis=1), (-1, per_level))
    # A region without a side cannot be cut out of a feature map.
    sides = stacked[..., 2:] - stacked[..., :2]
    valid = ops.logical_and(score > -1e8, ops.min(sides, axis=-1) >= smallest)
    if objectness_above:
        valid = ops.logical_and(valid, ops.sigmoid(score) >= objectness_above)
    kept = keep_mask(stacked, valid, overlap_above, rounded=rounded)
    every_score = ops.reshape(ops.where(kept, score, -1e9), (-1, levels * per_level))
    ordered, index = ops.top_k(every_score, min(size, levels * per_level))
    regions = gather_rows(ops.reshape(stacked, (-1, levels * per_level, 4)), index)
    return regions, ordered > -1e8
