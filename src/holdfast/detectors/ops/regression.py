"""The loss of predicted boxes against the boxes that their anchors answer for."""

from __future__ import annotations

from typing import Any

from keras import ops

from holdfast.detectors.ops.boxes import decode, encode
from holdfast.detectors.ops.losses import giou_loss, smooth_l1

Tensor = Any


def box_loss(
    offsets: Tensor, boxes: Tensor, anchors: Tensor, weights: tuple[float, ...], *, kind: str, beta: float
) -> Tensor:
    """One number an anchor: smooth L1 over the four offsets, or 1 - generalised IoU of the decoded box."""
    if kind == "giou":
        return giou_loss(decode(offsets, anchors, weights), boxes)
    return ops.sum(smooth_l1(offsets, encode(boxes, anchors, weights), beta), axis=-1)
