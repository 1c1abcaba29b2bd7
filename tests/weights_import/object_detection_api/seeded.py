"""Weights and an image that follow from names and seeds, so that both sides can make them."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

SIZE, CLASSES = 160, 3
Floats = NDArray[np.float32]


def weight(path: str, shape: tuple[int, ...]) -> Floats:
    """By the name of Holdfast's variable, scaled so that features keep their size from layer to layer."""
    rng = np.random.default_rng(zlib.crc32(path.encode()))
    owner, kind = path.rsplit("/", 1)
    if kind == "gamma":
        low, high = (0.2, 0.5) if owner.endswith("_3_bn") else (0.8, 1.2)
        return rng.uniform(low, high, shape).astype(np.float32)
    if kind == "moving_variance":
        return rng.uniform(0.6, 1.4, shape).astype(np.float32)
    if kind in ("beta", "moving_mean", "bias"):
        return rng.normal(0.0, 0.2, shape).astype(np.float32)
    depthwise = kind == "depthwise_kernel" or owner.endswith("_depthwise") or "_spread" in owner
    fan = np.prod(shape[:2]) if depthwise else np.prod(shape[:-1])
    gain = 0.7 if "box_out" in owner else 1.0 if "class_out" in owner else 1.4
    if owner.endswith("_out"):  # Faster R-CNN's: else every score is 0 or 1
        gain *= 0.003 if "region_head/" in owner else 0.15 if "rpn/" in owner else 1.0
    return rng.normal(0.0, gain / np.sqrt(fan), shape).astype(np.float32)


def image() -> NDArray[np.uint8]:
    """(1, side, side, 3): smooth colours and some noise."""
    rng = np.random.default_rng(11)
    coarse = rng.uniform(0, 255, (1, 10, 10, 3))
    smooth = coarse.repeat(SIZE // 10, axis=1).repeat(SIZE // 10, axis=2)
    return np.clip(smooth + rng.normal(0, 20, smooth.shape), 0, 255).astype(np.uint8)


def boxes() -> tuple[Floats, NDArray[np.int32]]:
    """(1, 4, 4) as y1, x1, y2, x2 in pixels, and their classes."""
    corners = np.array(
        [[[8, 12, 70, 60], [30, 80, 150, 151], [100, 10, 140, 47], [5, 90, 33, 140]]], np.float32
    )
    return corners, np.array([[0, 2, 1, 0]], np.int32)
