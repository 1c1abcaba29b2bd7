"""The API's anchors, (a, 4) as ymin, xmin, ymax, xmax, computed in float32 in the API's order of operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.detectors.object_detection_api.api_options import FasterRcnnOptions, SsdOptions

Floats = NDArray[np.float32]
Size = tuple[int, int]


def ssd_anchors(options: SsdOptions, levels: Sequence[Size], image: Size) -> Floats:
    """In shares of the image; `levels` are the (rows, columns) of the feature maps."""
    if options.pyramid:
        return np.concatenate([
            _pyramid_level(options, options.min_level + index, size, image) for index, size in enumerate(levels)
        ])  # fmt: skip
    short = np.float32(min(image))
    base = [
        short / np.float32(side) * np.float32(of) for side, of in zip(image, options.anchor_base, strict=True)
    ]
    found = []
    for (rows, columns), anchors in zip(levels, options.level_anchors, strict=True):
        stride = (np.float32(1.0) / np.float32(rows), np.float32(1.0) / np.float32(columns))
        offset = (np.float32(0.5) * stride[0], np.float32(0.5) * stride[1])
        scales, ratios = (np.array(part, np.float32) for part in zip(*anchors, strict=True))
        found.append(_tiled((rows, columns), scales, ratios, base, stride, offset))
    return np.concatenate(found)


def _pyramid_level(options: SsdOptions, level: int, size: Size, image: Size) -> Floats:
    """Centres are moved by half a stride only where the stride divides the image's side."""
    stride = 2**level
    offset = [stride / 2.0 if side % stride == 0 else 0.0 for side in image]
    scales = [2.0 ** (step / options.octave_scales) for step in range(options.octave_scales)]
    both = [(scale, ratio) for ratio in options.ratios for scale in scales]
    base = np.float32(stride * options.anchor_scale)
    scale, ratio = (np.array(part, np.float32) for part in zip(*both, strict=True))
    boxes = _tiled(size, scale, ratio, (base, base), (stride, stride), offset)
    height, width = (np.float32(side) for side in image)
    return boxes * np.array([1 / height, 1 / width, 1 / height, 1 / width], np.float32)


def region_anchors(options: FasterRcnnOptions, size: Size, image: Size, *, clipped: bool) -> Floats:
    """In pixels of the image."""
    both = [(scale, ratio) for ratio in options.ratios for scale in options.anchor_scales]
    scale, ratio = (np.array(part, np.float32) for part in zip(*both, strict=True))
    boxes = _tiled(size, scale, ratio, options.anchor_base, options.anchor_stride, options.anchor_offset)
    limit = np.array([*image, *image], np.float32)
    return np.maximum(np.minimum(boxes, limit), np.float32(0.0)) if clipped else boxes


def _tiled(
    size: Size,
    scales: Floats,
    ratios: Floats,
    base: Sequence[Any],
    stride: Sequence[Any],
    offset: Sequence[Any],
) -> Floats:
    """Row by row, cell by cell, anchor by anchor; a ratio is width over height."""
    one = np.float32
    roots = np.sqrt(ratios)
    heights, widths = scales / roots * one(base[0]), scales * roots * one(base[1])
    y = np.arange(size[0], dtype=np.float32) * one(stride[0]) + one(offset[0])
    x = np.arange(size[1], dtype=np.float32) * one(stride[1]) + one(offset[1])
    centre_y, centre_x, kind = np.meshgrid(y, x, np.arange(len(scales)), indexing="ij")
    half_h, half_w = one(0.5) * heights[kind], one(0.5) * widths[kind]
    boxes = np.stack([centre_y - half_h, centre_x - half_w, centre_y + half_h, centre_x + half_w], axis=-1)
    return boxes.reshape(-1, 4).astype(np.float32)
