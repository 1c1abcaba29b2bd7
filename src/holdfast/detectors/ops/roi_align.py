"""RoIAlign over the levels of a feature pyramid: each bin is a weighted sum of a few cells."""

from __future__ import annotations

import math
from typing import Any

from keras import ops

from holdfast.detectors.ops.batched_gather import weighted_rows

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
    aligned: bool = True,
) -> Tensor:
    """(b, r, size, size, c): each bin is the mean of `samples` x `samples` bilinear samples (He et al. 2017).

    Pixel centres lie at half-integers, as in Detectron2's `aligned=True`; a sample beyond the outermost
    centres takes the border's value. `strides` are (y, x) input pixels a cell, for each level. Not `aligned`, as
    torchvision's detectors: centres lie at whole numbers, a region is at least a cell long, and a sample more than a
    cell outside counts as zero.
    """
    batch, regions = ops.shape(boxes_br4)[0], boxes_br4.shape[1]
    channels = features[0].shape[-1]
    cells = sum(level.shape[1] * level.shape[2] for level in features)
    table = ops.concatenate([ops.reshape(level, (batch, -1, channels)) for level in features], axis=1)
    first_cell = _of_level(_first_cells(features), level_br, "int32")
    first_cell = first_cell + ops.arange(batch, dtype="int32")[:, None] * cells
    width = _of_level([level.shape[2] for level in features], level_br, "int32")
    rows, row_shares = _taps(
        features, strides, boxes_br4, level_br, axis=0, size=size, samples=samples, aligned=aligned
    )
    columns, column_shares = _taps(
        features, strides, boxes_br4, level_br, axis=1, size=size, samples=samples, aligned=aligned
    )
    taps = rows.shape[-1]
    rows = ops.reshape(first_cell[:, :, None, None] + rows * width[:, :, None, None], (-1, size, 1, taps, 1))
    cell = rows + ops.reshape(columns, (-1, 1, size, 1, taps))
    share = ops.reshape(row_shares, (-1, size, 1, taps, 1)) * ops.reshape(
        column_shares, (-1, 1, size, 1, taps)
    )
    summed = weighted_rows(
        ops.reshape(table, (-1, channels)),
        ops.reshape(cell, (-1, taps * taps)),
        ops.reshape(share, (-1, taps * taps)),
    )
    return ops.reshape(summed, (batch, regions, size, size, channels))


def _taps(
    features: list[Tensor],
    strides: list[tuple[float, float]],
    boxes_br4: Tensor,
    level_br: Tensor,
    *,
    axis: int,
    size: int,
    samples: int,
    aligned: bool,
) -> tuple[Tensor, Tensor]:
    """The cells that each bin reads along one axis (0: y, 1: x), two a sample, and their shares: (b, r, size, taps)."""
    stride = _of_level([pair[axis] for pair in strides], level_br, "float32")
    last = _of_level([level.shape[1 + axis] - 1 for level in features], level_br, "float32")[..., None]
    start = boxes_br4[..., 1 - axis] / stride
    length = (boxes_br4[..., 3 - axis] - boxes_br4[..., 1 - axis]) / stride
    step = (ops.arange(size * samples, dtype="float32") + 0.5) / (size * samples)
    length = length if aligned else ops.maximum(length, 1.0)
    place = start[..., None] + length[..., None] * step - (0.5 if aligned else 0.0)
    share = 1.0 / samples
    if not aligned:
        share = ops.where(ops.logical_and(place >= -1.0, place <= last + 1.0), share, 0.0)
    place = ops.minimum(ops.maximum(place, 0.0), last)
    low = ops.floor(place)
    high = ops.minimum(low + 1.0, last)
    shape = (-1, level_br.shape[1], size, samples)
    cells = [ops.reshape(ops.cast(one, "int32"), shape) for one in (low, high)]
    shares = [ops.reshape(one * share, shape) for one in (1.0 - (place - low), place - low)]
    return ops.concatenate(cells, axis=-1), ops.concatenate(shares, axis=-1)


def _first_cells(features: list[Tensor]) -> list[int]:
    sizes = [level.shape[1] * level.shape[2] for level in features]
    return [sum(sizes[:index]) for index in range(len(sizes))]


def _of_level(values: list[Any], level_br: Tensor, dtype: str) -> Tensor:
    return ops.take(ops.convert_to_tensor(values, dtype=dtype), level_br, axis=0)
