"""The feature pyramid (Lin et al. 2017): every level sees far and sees sharp."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
from keras import initializers, layers, ops

from holdfast.detectors.backbones.backbone import group_normalization
from holdfast.detectors.fusion.fuse import convolution

Tensor = Any


class FeaturePyramid(keras.layers.Layer):
    """From backbone features of rising stride to as many maps of `channels`, and `extra` coarser ones.

    `extra` "pool" adds one map by subsampling (Faster R-CNN), "convolutions" two by strided convolutions of
    the last (RetinaNet; from P5, as torchvision does, not from C5). `normalise` is for backbones whose
    features have no set scale: MobileNetV2's bottlenecks are linear, and reach 4 where ResNet50's are near 1.
    """

    def __init__(
        self, levels: int, channels: int, extra: str, *, normalise: bool, name: str = "pyramid"
    ) -> None:
        super().__init__(name=name)
        self.extra = extra
        self.lateral = [_PyramidConv(channels, 1, 1, normalise, name=f"lateral_{i}") for i in range(levels)]
        self.smooth = [_PyramidConv(channels, 3, 1, normalise, name=f"smooth_{i}") for i in range(levels)]
        coarser = 2 if extra == "convolutions" else 0
        self.coarser = [_PyramidConv(channels, 3, 2, normalise, name=f"coarser_{i}") for i in range(coarser)]

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


class _PyramidConv(keras.layers.Layer):
    """A convolution that keeps the scale of what it is given, or sets it by group normalisation."""

    def __init__(self, channels: int, kernel: int, stride: int, normalise: bool, name: str) -> None:
        super().__init__(name=name)
        even = initializers.VarianceScaling(1.0, mode="fan_in", distribution="uniform")
        self.conv = layers.Conv2D(
            channels,
            kernel,
            stride,
            padding="same",
            use_bias=not normalise,
            kernel_initializer=even,
            name="conv",
        )
        self.normalise = group_normalization(channels, "normalise") if normalise else None

    def build(self, shape: tuple[int, ...]) -> None:
        self.conv.build(shape)
        if self.normalise is not None:
            self.normalise.build(self.conv.compute_output_shape(shape))

    def call(self, x: Tensor) -> Tensor:
        return convolution(self.conv, x) if self.normalise is None else self.normalise(self.conv(x))


def _doubled(x: Tensor, height: int, width: int) -> Tensor:
    """Nearest neighbour to twice the size, cut where the finer map has an odd side."""
    return ops.repeat(ops.repeat(x, 2, axis=1), 2, axis=2)[:, :height, :width]
