"""torchvision's anchors: rounded boxes from the corner of a cell for the pyramids, cut default boxes for SSD. Numpy.

As in `anchors.grid`: (width, height) pairs for each level, anchors row by row, cell by cell, shape by shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.detectors.anchors import grid
from holdfast.detectors.anchors.grid import LevelShapes

Size = tuple[int, int]
Anchors = NDArray[np.float32]

RATIOS = (0.5, 1.0, 2.0)  # height over width
SIZES = (32, 64, 128, 256, 512)
#: Pixels from one default box to the next, of SSD300 at 300 pixels: not quite the input by the cells.
SSD300_STEPS = (8, 16, 32, 64, 100, 300)


def pyramid_shapes(sizes: Sequence[Sequence[int]]) -> LevelShapes:
    """Ratio by ratio, each with all sizes of the level; float32 as torch computes them, sides to even pixels."""
    levels = []
    for level in sizes:
        high = np.sqrt(np.asarray(RATIOS, np.float32))
        wide = np.float32(1.0) / high
        scales = np.asarray(level, np.float32)
        sides = np.stack([(wide[:, None] * scales).ravel(), (high[:, None] * scales).ravel()], axis=1)
        halves = np.round(sides / np.float32(2.0))
        levels.append(tuple((float(w), float(h)) for w, h in 2.0 * halves))
    return tuple(levels)


def retinanet_sizes() -> list[tuple[int, ...]]:
    """Three a level, cut to whole pixels."""
    return [(size, int(size * 2 ** (1.0 / 3)), int(size * 2 ** (2.0 / 3))) for size in SIZES]


def pyramid_anchors(feature_sizes: Sequence[Size], input_size: Size, shapes: LevelShapes) -> list[Anchors]:
    """Level by level. The first anchor's centre is the input's corner; cells are whole pixels apart."""
    found = []
    for (rows, columns), level in zip(feature_sizes, shapes, strict=True):
        y = np.arange(rows, dtype=np.float32) * (input_size[0] // rows)
        x = np.arange(columns, dtype=np.float32) * (input_size[1] // columns)
        half = np.asarray(level, np.float32) / 2
        centres = np.stack(np.meshgrid(y, x, indexing="ij")[::-1], axis=-1).reshape(-1, 1, 2)
        boxes = np.concatenate([centres - half, centres + half], axis=-1)
        found.append(boxes.reshape(-1, 4).astype(np.float32))
    return found


def ssd_shapes(backbone: str, input_size: Size) -> LevelShapes:
    """The paper's default boxes; no side is longer than the input's."""
    lite = backbone == "mobilenet_v3_large"
    scales = (*grid.spread_scales(6),) if lite else grid.SSD300_SCALES
    ratios = grid.SSDLITE_RATIOS if lite else grid.SSD300_RATIOS
    height, width = input_size
    return tuple(
        tuple((min(w, width), min(h, height)) for w, h in level)
        for level in grid.ssd_shapes(scales, ratios, input_size)
    )


def ssd_anchors(
    backbone: str, feature_sizes: Sequence[Size], input_size: Size, shapes: LevelShapes
) -> Anchors:
    if backbone == "vgg16" and input_size == (300, 300):
        levels = [
            grid.grid((rows, columns), (rows * step, columns * step), level)
            for (rows, columns), step, level in zip(feature_sizes, SSD300_STEPS, shapes, strict=True)
        ]
        return np.concatenate(levels)
    return grid.all_levels(feature_sizes, input_size, shapes)
