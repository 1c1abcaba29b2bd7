"""Anchors: reference boxes on the grid of each feature level. Plain numpy: they are constants of a model.

`shapes` are, for each level, the (width, height) pairs of its anchors in input pixels; the order of
anchors is row by row, cell by cell, shape by shape, level after level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Shape = tuple[float, float]
LevelShapes = tuple[tuple[Shape, ...], ...]

# Liu et al. 2016: the scales of the default boxes as shares of the input's side, for COCO, one more than
# there are levels (the last one only makes the extra square box of the level before).
SSD300_SCALES = (0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05)
SSD512_SCALES = (0.04, 0.10, 0.26, 0.42, 0.58, 0.74, 0.90, 1.06)
SSD300_RATIOS = ((2.0,), (2.0, 3.0), (2.0, 3.0), (2.0, 3.0), (2.0,), (2.0,))
SSD512_RATIOS = ((2.0,), (2.0, 3.0), (2.0, 3.0), (2.0, 3.0), (2.0, 3.0), (2.0,), (2.0,))
SSDLITE_RATIOS = ((2.0, 3.0),) * 6

RATIOS = (0.5, 1.0, 2.0)  # height over width, for the pyramids


def grid(
    feature_size: tuple[int, int], input_size: tuple[int, int], shapes: Sequence[Shape]
) -> NDArray[np.float32]:
    """Anchors of one level, (h * w * shapes, 4), centred on the cells; sizes are (height, width)."""
    rows, columns = feature_size
    centre_y = (np.arange(rows) + 0.5) * input_size[0] / rows
    centre_x = (np.arange(columns) + 0.5) * input_size[1] / columns
    half = np.asarray(shapes, dtype=np.float64).reshape(-1, 2) / 2.0
    y, x, shape = np.meshgrid(centre_y, centre_x, np.arange(len(half)), indexing="ij")
    half_w, half_h = half[shape, 0], half[shape, 1]
    boxes = np.stack([x - half_w, y - half_h, x + half_w, y + half_h], axis=-1)
    return boxes.reshape(-1, 4).astype(np.float32)


def all_levels(
    feature_sizes: Sequence[tuple[int, int]], input_size: tuple[int, int], shapes: LevelShapes
) -> NDArray[np.float32]:
    if len(feature_sizes) != len(shapes):
        raise ValueError(f"{len(feature_sizes)} levels of features, {len(shapes)} levels of anchors")
    return np.concatenate(
        [grid(size, input_size, level) for size, level in zip(feature_sizes, shapes, strict=True)]
    )


def ssd_shapes(
    scales: Sequence[float], ratios: Sequence[Sequence[float]], input_size: tuple[int, int]
) -> LevelShapes:
    """SSD's default boxes (Liu et al. 2016, 2.2): squares of s_k, sqrt(s_k s_k+1), each ratio both ways."""
    height, width = input_size
    levels = []
    for index, level_ratios in enumerate(ratios):
        scale, following = scales[index], scales[index + 1]
        sides = [(scale, scale), (math.sqrt(scale * following),) * 2]
        for ratio in level_ratios:
            root = math.sqrt(ratio)
            sides += [(scale * root, scale / root), (scale / root, scale * root)]
        levels.append(tuple((w * width, h * height) for w, h in sides))
    return tuple(levels)


def spread_scales(levels: int, smallest: float = 0.2, largest: float = 0.95) -> tuple[float, ...]:
    """Evenly spaced scales (Liu et al. 2016, equation 4), and a last one of 1."""
    step = (largest - smallest) / (levels - 1)
    return (*(smallest + step * index for index in range(levels)), 1.0)


def pyramid_shapes(sizes: Sequence[float], ratios: Sequence[float] = RATIOS, octaves: int = 1) -> LevelShapes:
    """One size a level, times 2^(0/octaves), 2^(1/octaves) …, at each ratio (height to width)."""
    steps = [2.0 ** (octave / octaves) for octave in range(octaves)]
    roots = [math.sqrt(ratio) for ratio in ratios]
    return tuple(
        tuple((size * step / root, size * step * root) for step in steps for root in roots) for size in sizes
    )
