"""Suppression one box after the other, as the API does it: on boxes that are not cut at the image's edges.

What is left of a box inside the image may be nothing: such a box suppresses others and counts for its class, and is
not among the answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from holdfast.detectors.object_detection_api.box_coding import area, clip, overlap
from holdfast.detectors.ops.batched_gather import gather_rows

Tensor = Any

_GONE = -1.0


class Suppressed(NamedTuple):
    """`boxes` (b, k, 4), cut at the edges; `scores`, `classes` (b, k), past an image's last one 0 and -1."""

    boxes: Tensor
    scores: Tensor
    classes: Tensor


def suppress(
    boxes: Tensor,
    scores_bac: Tensor,
    window: tuple[float, float],
    *,
    score_above: float,
    overlap_above: float,
    most_per_class: int,
    most: int,
    candidates: int = 5000,
) -> Suppressed:
    """The `most` best of each image. `boxes` are (b, a, 4), or (b, a, c, 4) when each class has its own.

    The `candidates` best pairs of a box and a class take part.
    """
    picked, scores, classes = _candidates(
        boxes, scores_bac, min(candidates, scores_bac.shape[1] * scores_bac.shape[2])
    )
    cut = clip(picked, *window)
    scores = ops.where(scores > score_above, scores, _GONE)
    chosen, chosen_score = _turns(
        picked, scores, classes, area(cut) > 0.0, most, overlap_above, most_per_class
    )
    real = chosen_score > _GONE
    return Suppressed(
        ops.where(real[..., None], gather_rows(cut, chosen), 0.0),
        ops.where(real, chosen_score, 0.0),
        ops.where(real, gather_rows(classes, chosen), -1),
    )


def _candidates(boxes: Tensor, scores_bac: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes, scores and classes of the best pairs; of equal scores the lower class, then the lower anchor, is first."""
    own_box = len(boxes.shape) == 4
    anchors, classes = scores_bac.shape[1], scores_bac.shape[2]
    if (
        anchors > count and classes > 1
    ):  # a short sort first: the best pairs are in the boxes with the best class
        _, likely = ops.top_k(ops.max(scores_bac, axis=2), count)
        likely = ops.sort(likely, axis=1)
        boxes, scores_bac, anchors = gather_rows(boxes, likely), gather_rows(scores_bac, likely), count
    flat = ops.reshape(ops.transpose(scores_bac, (0, 2, 1)), (-1, classes * anchors))
    scores, pair = ops.top_k(flat, count)
    pair = ops.cast(pair, "int32")
    kind, anchor = pair // anchors, pair % anchors
    if own_box:
        boxes = ops.reshape(boxes, (-1, anchors * classes, 4))
        return gather_rows(boxes, anchor * classes + kind), scores, kind
    return gather_rows(boxes, anchor), scores, kind


def _turns(
    boxes: Tensor,
    scores: Tensor,
    classes: Tensor,
    seen: Tensor,
    most: int,
    overlap_above: float,
    most_per_class: int,
) -> tuple[Tensor, Tensor]:
    """In each turn the best box that is left is taken, and those of its class that it overlaps are gone.

    It ends when every image has `most` boxes that are `seen`, or none is left: a network may send hundreds out of the
    image.
    """
    place = ops.arange(boxes.shape[1], dtype="int32")[None]
    slot = ops.arange(most, dtype="int32")[None]

    def step(found: Tensor, left: Tensor, chosen: Tensor, chosen_score: Tensor, taken: Tensor) -> Any:
        score = ops.max(left, axis=1, keepdims=True)
        # Of integers: Keras' argmax of floats looks at their bits, for which ONNX has no operation.
        first = ops.argmax(ops.cast(left == score, "int32"), axis=1)
        best = ops.cast(first, "int32")[:, None]
        same = classes == gather_rows(classes, best)
        taken = taken + ops.cast(ops.logical_and(same, score > _GONE), "int32")
        beaten = ops.logical_and(same, overlap(boxes, gather_rows(boxes, best)) > overlap_above)
        beaten = ops.logical_or(ops.logical_or(beaten, place == best), taken >= most_per_class)
        counts = ops.logical_and(gather_rows(seen, best), score > _GONE)
        now = ops.logical_and(slot == found, counts)
        return (
            found + ops.cast(counts, "int32"), ops.where(beaten, _GONE, left), ops.where(now, best, chosen),
            ops.where(now, score, chosen_score), taken,
        )  # fmt: skip

    def more(found: Tensor, left: Tensor, chosen: Tensor, chosen_score: Tensor, taken: Tensor) -> Tensor:
        return ops.any(ops.logical_and(found < most, left > _GONE))

    empty = ops.zeros_like(scores[:, :1])
    start = (
        ops.cast(empty, "int32"), scores, ops.cast(empty, "int32") + ops.zeros_like(slot),
        empty + _GONE + ops.zeros((1, most), "float32"), ops.zeros_like(classes),
    )  # fmt: skip
    _, _, chosen, chosen_score, _ = ops.while_loop(more, step, start)
    return chosen, chosen_score
