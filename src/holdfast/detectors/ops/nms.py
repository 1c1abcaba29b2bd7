"""Greedy non-maximum suppression of fixed size, without a loop over boxes."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from holdfast.detectors.ops.batched_gather import gather_rows
from holdfast.detectors.ops.boxes import on_grid, pairwise_iou

Tensor = Any


class Detections(NamedTuple):
    """`boxes` (b, k, 4), `scores` (b, k), `classes` (b, k); past an image's last one: zeros and class -1."""

    boxes: Tensor
    scores: Tensor
    classes: Tensor


def keep_mask(
    boxes_bk4: Tensor,
    valid_bk: Tensor,
    threshold: float,
    groups_bk: Tensor | None = None,
    *,
    rounded: bool = True,
) -> Tensor:
    """Which boxes greedy suppression keeps; boxes are ordered best first, and groups do not interfere.

    A box stays if no better box that stays overlaps it by more than `threshold`. Starting from "all
    stay" and applying that rule to all boxes at once, the first n boxes are right after n rounds and
    usually all are after a handful: the rounds end when nothing changes. The result is that of the
    sequential algorithm, box for box. Overlaps are `rounded` to a grid, so that backends agree in the last bit.
    """
    size = boxes_bk4.shape[1]
    order = ops.arange(size, dtype="int32")
    overlap = pairwise_iou(boxes_bk4, boxes_bk4)
    beats = (on_grid(overlap) if rounded else overlap) > threshold
    beats = ops.logical_and(beats, (order[:, None] < order[None, :])[None])
    if groups_bk is not None:
        beats = ops.logical_and(beats, groups_bk[:, :, None] == groups_bk[:, None, :])

    def settle(kept: Tensor) -> Tensor:
        beaten = ops.any(ops.logical_and(beats, kept[:, :, None]), axis=1)
        return ops.logical_and(valid_bk, ops.logical_not(beaten))

    def unsettled(kept: Tensor, before: Tensor, left: Tensor) -> Tensor:
        return ops.logical_and(ops.any(kept != before), left > 0)

    def once_more(kept: Tensor, before: Tensor, left: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return settle(kept), kept, left - 1

    start = (settle(valid_bk), valid_bk, ops.convert_to_tensor(size, dtype="int32"))
    kept, _, _ = ops.while_loop(unsettled, once_more, start)
    return kept


def first_kept(kept_bk: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Indices of the first `size` kept, in order, and which of them are real."""
    length = kept_bk.shape[1]
    order = ops.arange(length, dtype="int32")[None, :]
    key = ops.where(kept_bk, length - order, 0)
    value, index = ops.top_k(key, min(size, length))
    return ops.cast(index, "int32"), value > 0


def per_class_nms(
    boxes: Tensor,
    scores_bac: Tensor,
    *,
    score_above: float,
    overlap_above: float,
    candidates: int = 1000,
    size: int = 100,
) -> Detections:
    """The `size` best detections of each image, suppressed within each class.

    `boxes` are (b, a, 4), or (b, a, c, 4) when each class has its own. The `candidates` best (box, class)
    pairs above `score_above` take part.
    """
    classes = scores_bac.shape[2]
    if scores_bac.shape[1] > candidates and classes > 1:
        # The best `candidates` pairs lie in the `candidates` boxes with the best class: a short sort twice
        # in place of one over every pair.
        _, likely = ops.top_k(ops.max(scores_bac, axis=2), candidates)
        boxes, scores_bac = gather_rows(boxes, likely), gather_rows(scores_bac, likely)
    pairs = scores_bac.shape[1] * classes
    flat = ops.reshape(scores_bac, (-1, pairs))
    scores, pair = ops.top_k(flat, min(candidates, pairs))
    pair = ops.cast(pair, "int32")
    class_of = pair % classes
    own_box = len(boxes.shape) == 4
    picked = (
        gather_rows(ops.reshape(boxes, (-1, pairs, 4)), pair)
        if own_box
        else gather_rows(boxes, pair // classes)
    )
    kept = keep_mask(picked, scores > score_above, overlap_above, class_of)
    index, real = first_kept(kept, size)
    return padded(
        Detections(
            ops.where(real[..., None], gather_rows(picked, index), 0.0),
            ops.where(real, gather_rows(scores, index), 0.0),
            ops.where(real, gather_rows(class_of, index), -1),
        ),
        size,
    )


def padded(found: Detections, size: int) -> Detections:
    """Filled up to `size` with zeros and class -1."""
    missing = size - found.scores.shape[1]
    if missing == 0:
        return found
    return Detections(
        ops.pad(found.boxes, ((0, 0), (0, missing), (0, 0))),
        ops.pad(found.scores, ((0, 0), (0, missing))),
        ops.pad(found.classes, ((0, 0), (0, missing)), constant_values=-1),
    )
