"""The anchors of each detector, without building it: sizes of its feature maps by arithmetic. Numpy alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.detectors.anchors import grid as boxes
from holdfast.detectors.anchors.grid import LevelShapes

#: Seven levels in place of six, from this side on (SSD512).
SSD_LARGE = 448

PYRAMID_SIZES = (32.0, 64.0, 128.0, 256.0, 512.0)  # RetinaNet's at stride 8 … 128, Faster R-CNN's at 4 … 64

Size = tuple[int, int]


def anchors_of(
    detector: str, backbone: str, input_size: int | Size, shapes: LevelShapes | None = None
) -> NDArray[np.float32]:
    """All anchors, (a, 4), in pixels of the input; `shapes` in place of the papers'."""
    size = (input_size, input_size) if isinstance(input_size, int) else input_size
    return boxes.all_levels(
        feature_sizes(detector, backbone, size), size, shapes or shapes_of(detector, backbone, size)
    )


def feature_sizes(detector: str, backbone: str, input_size: Size) -> list[Size]:
    """(rows, columns) of each level that has anchors."""
    rows, columns = (
        _side_sizes(detector, backbone, side, large=min(input_size) >= SSD_LARGE) for side in input_size
    )
    return list(zip(rows, columns, strict=True))


def shapes_of(detector: str, backbone: str, input_size: Size) -> LevelShapes:
    """The papers' anchors. SSD's follow the input's size, the pyramids' are in pixels."""
    if detector == "retinanet":
        return boxes.pyramid_shapes(PYRAMID_SIZES, octaves=3)
    if detector == "faster-rcnn":
        return boxes.pyramid_shapes(PYRAMID_SIZES)
    levels = len(feature_sizes(detector, backbone, input_size))
    if backbone == "mobilenet_v2":
        return boxes.ssd_shapes(boxes.spread_scales(levels), boxes.SSDLITE_RATIOS, input_size)
    if levels == 7:
        return boxes.ssd_shapes(boxes.SSD512_SCALES, boxes.SSD512_RATIOS, input_size)
    return boxes.ssd_shapes(boxes.SSD300_SCALES, boxes.SSD300_RATIOS, input_size)


def _side_sizes(detector: str, backbone: str, side: int, *, large: bool) -> list[int]:
    if detector == "retinanet":
        return _halved(side, 3, 5)
    if detector == "faster-rcnn":
        return _halved(side, 2, 5)
    if backbone == "mobilenet_v2":
        return _halved(side, 4, 6)
    if backbone == "vgg16" and not large:
        first = _halved(side, 3, 4)
        return [*first, first[-1] - 2, first[-1] - 4]
    return _halved(side, 3, 7 if large else 6)


def _halved(side: int, skip: int, levels: int) -> list[int]:
    """Every stride of two rounds up."""
    sizes = [side]
    for _ in range(skip + levels - 1):
        sizes.append(-(-sizes[-1] // 2))
    return sizes[skip:]
