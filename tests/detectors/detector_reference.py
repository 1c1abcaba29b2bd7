"""Slow, plain versions of the parts, in float64 and with loops, from the papers' formulae.

Nothing here uses the code under test or a tensor library, so that agreement means something.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def iou(a: Array, b: Array) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = width * height if width > 0 and height > 0 else 0.0
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared / union if union > 0 else 0.0


def greedy_nms(boxes: Array, scores: Array, threshold: float) -> list[int]:
    kept: list[int] = []
    for index in sorted(range(len(boxes)), key=lambda i: (-scores[i], i)):
        if all(iou(boxes[index], boxes[other]) <= threshold for other in kept):
            kept.append(index)
    return kept


def focal(logit: float, target: int, alpha: float, gamma: float) -> float:
    p = 1.0 / (1.0 + math.exp(-logit))
    p_t = p if target else 1.0 - p
    alpha_t = alpha if target else 1.0 - alpha
    return -alpha_t * (1.0 - p_t) ** gamma * math.log(p_t)


def giou(a: Array, b: Array) -> float:
    overlap = iou(a, b)
    hull = (max(a[2], b[2]) - min(a[0], b[0])) * (max(a[3], b[3]) - min(a[1], b[1]))
    areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    union = areas / (1.0 + overlap)  # shared = overlap * union, areas = union + shared
    return overlap - (hull - union) / hull


def bilinear(feature: Array, y: float, x: float) -> Array:
    rows, columns = feature.shape[:2]
    y, x = min(max(y, 0.0), rows - 1.0), min(max(x, 0.0), columns - 1.0)
    y0, x0 = math.floor(y), math.floor(x)
    y1, x1 = min(y0 + 1, rows - 1), min(x0 + 1, columns - 1)
    fy, fx = y - y0, x - x0
    top = feature[y0, x0] * (1 - fx) + feature[y0, x1] * fx
    bottom = feature[y1, x0] * (1 - fx) + feature[y1, x1] * fx
    return np.asarray(top * (1 - fy) + bottom * fy)


def roi_align(feature: Array, box: Array, stride: tuple[float, float], size: int, samples: int) -> Array:
    out = np.zeros((size, size, feature.shape[-1]))
    bin_h, bin_w = (box[3] - box[1]) / stride[0] / size, (box[2] - box[0]) / stride[1] / size
    for row in range(size):
        for column in range(size):
            values = [
                bilinear(
                    feature,
                    box[1] / stride[0] + (row + (i + 0.5) / samples) * bin_h - 0.5,
                    box[0] / stride[1] + (column + (j + 0.5) / samples) * bin_w - 0.5,
                )
                for i in range(samples)
                for j in range(samples)
            ]
            out[row, column] = np.mean(values, axis=0)
    return out


def lowbias32(x: int) -> int:
    x ^= x >> 16
    x = x * 0x7FEB352D & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def random_boxes(rng: np.random.Generator, count: int, size: float = 100.0) -> NDArray[np.float32]:
    corner = rng.uniform(0, size * 0.8, (count, 2))
    sides = rng.uniform(size * 0.02, size * 0.5, (count, 2))
    return np.concatenate([corner, corner + sides], axis=1).astype(np.float32)
