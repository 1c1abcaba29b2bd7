"""The feature pyramid (Lin et al. 2017): every level sees far and sees sharp."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

Tensor = Any


class FeaturePyramid(keras.layers.Layer):
    """From backbone features of rising stride to as many maps of `channels`, and `extra` coarser ones.

    `extra` "pool" adds one map by subsampling (Faster R-CNN), "convolutions" two by strided convolutions of
    the last (RetinaNet; from P5, as Detectron2 and torchvision do, not from C5).
    """

    def __init__(self, levels: int, channels: int, extra: str, name: str = "pyramid") -> None:
        super().__init__(name=name)
        self.extra = extra
        scale = "he_uniform"
        self.lateral = [
            layers.Conv2D(channels, 1, kernel_initializer=scale, name=f"lateral_{i}") for i in range(levels)
        ]
        self.smooth = [
            layers.Conv2D(channels, 3, padding="same", kernel_initializer=scale, name=f"smooth_{i}")
            for i in range(levels)
        ]
        self.coarser = [
            layers.Conv2D(channels, 3, 2, padding="same", kernel_initializer=scale, name=f"coarser_{i}")
            for i in range(2 if extra == "convolutions" else 0)
        ]

    def call(self, features: list[Tensor]) -> list[Tensor]:
        lateral = [conv(feature) for conv, feature in zip(self.lateral, features, strict=True)]
        merged = [lateral[-1]]
        for finer in reversed(lateral[:-1]):
            merged.insert(0, finer + _doubled(merged[0], finer.shape[1], finer.shape[2]))
        maps = [conv(level) for conv, level in zip(self.smooth, merged, strict=True)]
        if self.extra == "pool":
            return [*maps, maps[-1][:, ::2, ::2]]
        first = self.coarser[0](maps[-1])
        return [*maps, first, self.coarser[1](ops.relu(first))]


def _doubled(x: Tensor, height: int, width: int) -> Tensor:
    """Nearest neighbour to twice the size, cut where the finer map has an odd side."""
    return ops.repeat(ops.repeat(x, 2, axis=1), 2, axis=2)[:, :height, :width]
