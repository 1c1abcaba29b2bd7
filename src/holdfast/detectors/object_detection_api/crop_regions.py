"""Regions cut out of a feature map as TensorFlow's `crop_and_resize` does it, and pooled by their maximum."""

from __future__ import annotations

from typing import Any

from keras import ops

from holdfast.detectors.ops.batched_gather import weighted_rows

Tensor = Any


def crop_and_pool(
    features: Tensor, regions_br4: Tensor, image: tuple[int, int], *, crop: int, pool: int, stride: int
) -> Tensor:
    """(b * r, side, side, c) of regions in pixels, y1 x1 y2 x2. `crop` x `crop` bilinear samples, from edge to edge of
    the region, of which the largest of each `pool` x `pool` is taken.

    Samples of one place in the pools are cut out at a time: all at once they would need `pool` squared the memory.
    """
    rows, columns = features.shape[1], features.shape[2]
    y = _places(regions_br4, 0, crop, rows / image[0] * (rows - 1) / rows)
    x = _places(regions_br4, 1, crop, columns / image[1] * (columns - 1) / columns)
    side = (crop - pool) // stride + 1
    largest = None
    for down in range(pool):
        for along in range(pool):
            cut = _bilinear(features, _every(y, down, side, stride), _every(x, along, side, stride))
            largest = cut if largest is None else ops.maximum(largest, cut)
    return largest


def _places(regions: Tensor, axis: int, crop: int, cells_per_pixel: float) -> Tensor:
    """(b, r, crop) coordinates on the map, 0 at its first cell's centre and n - 1 at its last."""
    start, end = regions[..., axis] * cells_per_pixel, regions[..., axis + 2] * cells_per_pixel
    step = (end - start) / (crop - 1)
    return start[..., None] + ops.arange(crop, dtype="float32") * step[..., None]


def _every(places: Tensor, first: int, count: int, stride: int) -> Tensor:
    return places[..., first : first + (count - 1) * stride + 1 : stride]


def _bilinear(features: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """(b * r, side, side, c): a sample at each pair of coordinates."""
    batch = ops.shape(features)[0]
    rows, columns, channels = features.shape[1:]
    side = y.shape[2]
    top, down = _neighbours(y, rows)
    left, along = _neighbours(x, columns)
    first = ops.arange(batch, dtype="int32")[:, None, None, None] * (rows * columns)
    cells, shares = [], []
    for row, row_share in ((top, 1.0 - down), (ops.minimum(top + 1, rows - 1), down)):
        for column, column_share in ((left, 1.0 - along), (ops.minimum(left + 1, columns - 1), along)):
            cells.append(first + row[:, :, :, None] * columns + column[:, :, None, :])
            shares.append(row_share[:, :, :, None] * column_share[:, :, None, :])
    found = weighted_rows(
        ops.reshape(features, (-1, channels)), ops.reshape(ops.stack(cells, axis=-1), (-1, 4)),
        ops.reshape(ops.stack(shares, axis=-1), (-1, 4)),
    )  # fmt: skip
    return ops.reshape(found, (-1, side, side, channels))


def _neighbours(place: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The cell before each coordinate, and how far behind it the coordinate is."""
    place = ops.clip(place, 0.0, count - 1.0)
    low = ops.floor(place)
    return ops.cast(low, "int32"), place - low
