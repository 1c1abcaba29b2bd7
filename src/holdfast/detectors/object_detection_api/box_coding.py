"""Boxes as the API computes with them: (ymin, xmin, ymax, xmax) in the last axis, in pixels or shares of the image."""

from __future__ import annotations

from typing import Any

from keras import ops

Tensor = Any

_EPSILON = 1e-8


def from_pixels(boxes_xyxy: Tensor, height: int, width: int) -> Tensor:
    """Holdfast's boxes as shares of the image."""
    x1, y1, x2, y2 = (ops.cast(boxes_xyxy[..., side], "float32") for side in range(4))
    return ops.stack([y1 / height, x1 / width, y2 / height, x2 / width], axis=-1)


def to_xyxy(boxes: Tensor, height: float, width: float) -> Tensor:
    """Holdfast's order, times the given sides."""
    y1, x1, y2, x2 = (boxes[..., side] for side in range(4))
    return ops.stack([x1 * width, y1 * height, x2 * width, y2 * height], axis=-1)


def to_yxyx(boxes_xyxy: Tensor) -> Tensor:
    return ops.stack([ops.cast(boxes_xyxy[..., side], "float32") for side in (1, 0, 3, 2)], axis=-1)


def encode(boxes: Tensor, anchors: Tensor, scales: tuple[float, ...]) -> Tensor:
    """(ty, tx, th, tw) of each box against its anchor."""
    y, x, height, width = _centred(boxes)
    anchor_y, anchor_x, anchor_height, anchor_width = _centred(anchors)
    height, width, anchor_height, anchor_width = (
        side + _EPSILON for side in (height, width, anchor_height, anchor_width)
    )
    parts = [
        (y - anchor_y) / anchor_height, (x - anchor_x) / anchor_width,
        ops.log(ops.maximum(height, _EPSILON) / anchor_height), ops.log(ops.maximum(width, _EPSILON) / anchor_width),
    ]  # fmt: skip
    return ops.stack([part * scale for part, scale in zip(parts, scales, strict=True)], axis=-1)


def decode(codes: Tensor, anchors: Tensor, scales: tuple[float, ...]) -> Tensor:
    """The inverse. A side may grow without limit."""
    y, x, height, width = _centred(anchors)
    move_y, move_x, grow_height, grow_width = (codes[..., part] / scales[part] for part in range(4))
    half_height, half_width = ops.exp(grow_height) * height / 2.0, ops.exp(grow_width) * width / 2.0
    centre_y, centre_x = move_y * height + y, move_x * width + x
    corners = (centre_y - half_height, centre_x - half_width, centre_y + half_height, centre_x + half_width)
    return ops.stack(corners, axis=-1)


def _centred(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    y1, x1, y2, x2 = (boxes[..., side] for side in range(4))
    height, width = y2 - y1, x2 - x1
    return y1 + height / 2.0, x1 + width / 2.0, height, width


def clip(boxes: Tensor, height: float, width: float) -> Tensor:
    limit = ops.convert_to_tensor((height, width, height, width), dtype="float32")
    return ops.maximum(ops.minimum(boxes, limit), 0.0)


def area(boxes: Tensor) -> Tensor:
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def overlap(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union of boxes that broadcast; 0 where they do not meet."""
    high = ops.minimum(a[..., 2], b[..., 2]) - ops.maximum(a[..., 0], b[..., 0])
    wide = ops.minimum(a[..., 3], b[..., 3]) - ops.maximum(a[..., 1], b[..., 1])
    shared = ops.maximum(high, 0.0) * ops.maximum(wide, 0.0)
    union = area(a) + area(b) - shared
    return ops.where(shared > 0.0, shared / ops.where(union > 0.0, union, 1.0), 0.0)
