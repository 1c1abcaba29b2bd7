"""RoIAlign over the levels of a feature pyramid, as one gather."""

from __future__ import annotations

import math
from typing import Any

from keras import ops

Tensor = Any


def level_of(boxes: Tensor, levels: int, *, canonical_level: int, canonical_size: float = 224.0) -> Tensor:
    """The pyramid level of each box (Lin et al. 2017, FPN, equation 1), as an index from 0.

    A box of `canonical_size` belongs to `canonical_level`, one of half the size to the level below.
    """
    sides = ops.maximum(boxes[..., 2:] - boxes[..., :2], 0.0)
    size = ops.sqrt(sides[..., 0] * sides[..., 1])
    level = canonical_level + ops.log(size / canonical_size + 1e-6) / math.log(2.0)
    return ops.cast(ops.clip(ops.floor(level + 1e-4), 0, levels - 1), "int32")


def roi_align(
    features: list[Tensor],
    strides: list[tuple[float, float]],
    boxes_br4: Tensor,
    level_br: Tensor,
    *,
    size: int = 7,
    samples: int = 2,
) -> Tensor:
    """(b, r, size, size, c): each bin is the mean of `samples` x `samples` bilinear samples (He et al. 2017).

    Pixel centres lie at half-integers, as in Detectron2's `aligned=True`; a sample beyond the outermost
    centres takes the border's value. `strides` are (y, x) input pixels a cell, for each level.
    """
    batch, regions = ops.shape(boxes_br4)[0], boxes_br4.shape[1]
    channels = features[0].shape[-1]
    cells = sum(level.shape[1] * level.shape[2] for level in features)
    table = ops.concatenate([ops.reshape(level, (batch, -1, channels)) for level in features], axis=1)
    table = ops.reshape(table, (-1, channels))
    first_cell = _of_level(_first_cells(features), level_br, "int32")
    first_cell = first_cell + ops.arange(batch, dtype="int32")[:, None] * cells
    width = _of_level([level.shape[2] for level in features], level_br, "int32")
    vertical = _taps(features, strides, boxes_br4, level_br, axis=0, count=size * samples)
    horizontal = _taps(features, strides, boxes_br4, level_br, axis=1, count=size * samples)
    grid = (batch, regions, size * samples, size * samples, channels)
    sampled = 0.0
    for row, row_share in vertical:
        for column, column_share in horizontal:
            cell = first_cell[:, :, None, None] + (row * width[:, :, None])[..., None] + column[:, :, None, :]
            share = ops.cast(row_share[..., None] * column_share[:, :, None, :], table.dtype)
            picked = ops.take(table, ops.reshape(cell, (-1,)), axis=0)
            sampled = sampled + ops.reshape(picked, grid) * share[..., None]
    # Five axes, not seven: TFLite's kernels take six at most.
    bins = ops.reshape(sampled, (-1, samples, size, samples, channels))
    return ops.reshape(ops.mean(bins, axis=(1, 3)), (batch, regions, size, size, channels))


def _taps(
    features: list[Tensor],
    strides: list[tuple[float, float]],
    boxes_br4: Tensor,
    level_br: Tensor,
    *,
    axis: int,
    count: int,
) -> list[tuple[Tensor, Tensor]]:
    """The two cells that each sample along one axis (0: y, 1: x) lies between, and their shares."""
    stride = _of_level([pair[axis] for pair in strides], level_br, "float32")
    last = _of_level([level.shape[1 + axis] - 1 for level in features], level_br, "float32")[..., None]
    start = boxes_br4[..., 1 - axis] / stride
    length = (boxes_br4[..., 3 - axis] - boxes_br4[..., 1 - axis]) / stride
    step = (ops.arange(count, dtype="float32") + 0.5) / count
    place = start[..., None] + length[..., None] * step - 0.5
    place = ops.minimum(ops.maximum(place, 0.0), last)
    low = ops.floor(place)
    high = ops.minimum(low + 1.0, last)
    return [(ops.cast(low, "int32"), 1.0 - (place - low)), (ops.cast(high, "int32"), place - low)]


def _first_cells(features: list[Tensor]) -> list[int]:
    sizes = [level.shape[1] * level.shape[2] for level in features]
    return [sum(sizes[:index]) for index in range(len(sizes))]


def _of_level(values: list[Any], level_br: Tensor, dtype: str) -> Tensor:
    return ops.take(ops.convert_to_tensor(values, dtype=dtype), level_br, axis=0)
