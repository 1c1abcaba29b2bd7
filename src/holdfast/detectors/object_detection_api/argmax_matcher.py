"""The API's matcher: each anchor takes the box that it overlaps most, each box its best anchor."""

from __future__ import annotations

from typing import Any

from keras import ops

from holdfast.detectors.anchors.matcher import Matches
from holdfast.detectors.object_detection_api.box_coding import overlap

Tensor = Any

IN_CROWD = 0.5


def match(
    anchors: Tensor, boxes: Tensor, real_bn: Tensor, crowd_bn: Tensor,
    *, matched_from: float, unmatched_below: float, forced: bool, usable: Any = None,
) -> Matches:  # fmt: skip
    """`anchors` are (a, 4) or (b, a, 4); those that are not `usable`, (a), take no box.

    Unlike Holdfast's own matcher, a box that overlaps no anchor still takes one when `forced`, and of two boxes that
    claim one anchor the first has it.

    Crowd regions match nothing, and an anchor with half of itself in one is not background; the API has no such rule.
    """
    if len(anchors.shape) == 2:
        anchors = ops.convert_to_tensor(anchors)[None]
    wanted = ops.logical_and(real_bn, ops.logical_not(crowd_bn))
    similar = overlap(boxes[:, :, None, :], anchors[:, None, :, :])  # (b, n, a)
    similar = ops.where(wanted[:, :, None], similar, -1.0)
    if usable is not None:
        similar = ops.where(usable, similar, -1.0)
    best, index = ops.max(similar, axis=1), ops.cast(ops.argmax(similar, axis=1), "int32")
    positive = best >= matched_from
    if forced:
        claimed = ops.cast(ops.argmax(similar, axis=2), "int32")
        size = anchors.shape[1]
        claims = ops.logical_and(
            ops.arange(size, dtype="int32")[None, None, :] == claimed[:, :, None], wanted[:, :, None]
        )
        by_force = ops.any(claims, axis=1)
        index = ops.where(by_force, ops.cast(ops.argmax(ops.cast(claims, "int32"), axis=1), "int32"), index)
        positive = ops.logical_or(positive, by_force)
    background = ops.logical_and(best < unmatched_below, ops.logical_not(positive))
    return Matches(
        index,
        positive,
        ops.logical_and(background, ops.logical_not(_in_crowd(anchors, boxes, real_bn, crowd_bn))),
    )


def _in_crowd(anchors: Tensor, boxes: Tensor, real_bn: Tensor, crowd_bn: Tensor) -> Tensor:
    a, b = anchors[:, None, :, :], boxes[:, :, None, :]
    high = ops.minimum(a[..., 2], b[..., 2]) - ops.maximum(a[..., 0], b[..., 0])
    wide = ops.minimum(a[..., 3], b[..., 3]) - ops.maximum(a[..., 1], b[..., 1])
    own = ops.maximum((a[..., 2] - a[..., 0]) * (a[..., 3] - a[..., 1]), 1e-12)
    share = ops.maximum(high, 0.0) * ops.maximum(wide, 0.0) / own
    crowd = ops.logical_and(real_bn, crowd_bn)[:, :, None]
    return ops.any(ops.logical_and(crowd, share >= IN_CROWD), axis=1)
