"""Boxes as tensors: overlap, and the coding of a box against an anchor.

Boxes are `(x1, y1, x2, y2)` in pixels of the model's input, in the last axis; leading axes broadcast.
"""

from __future__ import annotations

import math
from typing import Any

from keras import ops

Tensor = Any

# A fresh head may ask for any size; the exponential is cut where a 16 px anchor would become 1000 px
# (Faster R-CNN's published code), so that no step makes an infinite box.
LARGEST_LOG_SCALE = math.log(1000.0 / 16.0)

# Box heads predict offsets times these, so that all four have about unit spread: the inverse of SSD's
# "variances" 0.1, 0.1, 0.2, 0.2, and Faster R-CNN's weights for its box head.
SCALED = (10.0, 10.0, 5.0, 5.0)
UNSCALED = (1.0, 1.0, 1.0, 1.0)

# Two anchors that lie symmetrically about a box tie exactly on paper and by chance in float32. Overlaps
# that decide something are rounded to this grid first, so that both backends break a tie by index.
_OVERLAP_GRID = 65536.0


def area(boxes: Tensor) -> Tensor:
    """Zero for an inverted box, never negative."""
    sides = ops.maximum(boxes[..., 2:] - boxes[..., :2], 0.0)
    return sides[..., 0] * sides[..., 1]


def intersection(a: Tensor, b: Tensor) -> Tensor:
    """Shared area of boxes that broadcast against each other.

    By coordinate, not by corner: no temporary has an axis of two, which costs twice the memory where nothing is
    fused and unaligned reads where everything is.
    """
    wide = ops.minimum(a[..., 2], b[..., 2]) - ops.maximum(a[..., 0], b[..., 0])
    high = ops.minimum(a[..., 3], b[..., 3]) - ops.maximum(a[..., 1], b[..., 1])
    return ops.maximum(wide, 0.0) * ops.maximum(high, 0.0)


def iou(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union of boxes that broadcast; 0 where both have no area."""
    shared = intersection(a, b)
    union = area(a) + area(b) - shared
    return shared / ops.maximum(union, 1e-9)


def pairwise_iou(a_n4: Tensor, b_m4: Tensor) -> Tensor:
    """IoU of every box of `a` with every box of `b`: (…, n, 4) and (…, m, 4) give (…, n, m)."""
    return iou(a_n4[..., :, None, :], b_m4[..., None, :, :])


def share_inside(a_n4: Tensor, b_m4: Tensor) -> Tensor:
    """The share of each box of `a` that lies inside each box of `b`, as (…, n, m)."""
    shared = intersection(a_n4[..., :, None, :], b_m4[..., None, :, :])
    return shared / ops.maximum(area(a_n4)[..., :, None], 1e-9)


def on_grid(overlap: Tensor) -> Tensor:
    """The overlap to the nearest 1/65536, for comparisons that must not hang on the last bit."""
    return ops.floor(overlap * _OVERLAP_GRID + 0.5) / _OVERLAP_GRID


def centre_form(boxes: Tensor) -> Tensor:
    """(centre x, centre y, width, height)."""
    centres = (boxes[..., :2] + boxes[..., 2:]) / 2.0
    return ops.concatenate([centres, boxes[..., 2:] - boxes[..., :2]], axis=-1)


def encode(boxes: Tensor, anchors: Tensor, weights: tuple[float, ...] = UNSCALED) -> Tensor:
    """The offsets that turn `anchors` into `boxes` (Girshick et al. 2014, appendix C).

    A side below one hundredth of a pixel is taken as that, so that padding encodes to finite numbers.
    """
    box, anchor = centre_form(boxes), centre_form(anchors)
    shift = (box[..., :2] - anchor[..., :2]) / anchor[..., 2:]
    scale = ops.log(ops.maximum(box[..., 2:], 0.01) / anchor[..., 2:])
    return ops.concatenate([shift, scale], axis=-1) * ops.convert_to_tensor(weights, dtype="float32")


def decode(offsets: Tensor, anchors: Tensor, weights: tuple[float, ...] = UNSCALED) -> Tensor:
    """The inverse of `encode`, with the growth of a side limited to 62.5 times."""
    offsets = offsets / ops.convert_to_tensor(weights, dtype="float32")
    anchor = centre_form(anchors)
    centres = offsets[..., :2] * anchor[..., 2:] + anchor[..., :2]
    halves = ops.exp(ops.minimum(offsets[..., 2:], LARGEST_LOG_SCALE)) * anchor[..., 2:] / 2.0
    return ops.concatenate([centres - halves, centres + halves], axis=-1)


def clip(boxes: Tensor, height: int, width: int) -> Tensor:
    """The part of each box inside an image of that size."""
    limit = ops.convert_to_tensor([width, height, width, height], dtype="float32")
    return ops.minimum(ops.maximum(boxes, 0.0), limit)
