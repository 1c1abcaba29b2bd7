"""ResNeXt-50 (32 x 4d) (Xie et al. 2017): ResNet50 whose 3 x 3 convolutions are of 32 groups, twice as wide.

Layers are named and cut as Keras' ResNet50 is; the stride of a stage is in the 3 x 3 convolution, as in the paper's
published code, and no convolution has a bias.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import layers

Tensor = Any

GROUPS = 32
STAGES = ((2, 3, 128, 1), (3, 4, 256, 2), (4, 6, 512, 2), (5, 3, 1024, 2))  # number, blocks, width, stride


def resnext50(shape: tuple[int, int, int]) -> keras.Model:
    """Without a classifier; fresh weights."""
    images = keras.Input(shape)
    x = layers.ZeroPadding2D(3, name="conv1_pad")(images)
    x = layers.Conv2D(64, 7, 2, use_bias=False, name="conv1_conv")(x)
    x = _normalise(x, "conv1")
    x = layers.Activation("relu", name="conv1_relu")(x)
    x = layers.ZeroPadding2D(1, name="pool1_pad")(x)
    x = layers.MaxPooling2D(3, 2, name="pool1_pool")(x)
    for stage, count, width, stride in STAGES:
        for index in range(1, count + 1):
            x = _bottleneck(x, width, stride if index == 1 else 1, index == 1, f"conv{stage}_block{index}")
    return keras.Model(images, x, name="resnext50")


def _bottleneck(x: Tensor, width: int, stride: int, widens: bool, name: str) -> Tensor:
    shortcut = x
    if widens:
        shortcut = _normalise(_conv(x, 2 * width, 1, stride, f"{name}_0"), f"{name}_0")
    x = _normalise(_conv(x, width, 1, 1, f"{name}_1"), f"{name}_1")
    x = layers.Activation("relu", name=f"{name}_1_relu")(x)
    if stride > 1:  # zeros on both sides, as the stem's: "same" would shift the grid by half a cell
        x = layers.ZeroPadding2D(1, name=f"{name}_2_pad")(x)
    x = _normalise(_conv(x, width, 3, stride, f"{name}_2", groups=GROUPS), f"{name}_2")
    x = layers.Activation("relu", name=f"{name}_2_relu")(x)
    x = _normalise(_conv(x, 2 * width, 1, 1, f"{name}_3"), f"{name}_3")
    x = layers.Add(name=f"{name}_add")([shortcut, x])
    return layers.Activation("relu", name=f"{name}_out")(x)


def _conv(x: Tensor, channels: int, kernel: int, stride: int, name: str, groups: int = 1) -> Tensor:
    return layers.Conv2D(
        channels, kernel, stride, groups=groups, padding="valid" if stride > 1 else "same", use_bias=False,
        name=f"{name}_conv",
    )(x)  # fmt: skip


def _normalise(x: Tensor, name: str) -> Tensor:
    return layers.BatchNormalization(epsilon=1e-5, name=f"{name}_bn")(x)
