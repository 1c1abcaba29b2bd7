"""MobileNetV3-Large (Howard et al. 2019) as torchvision has it: whole for Faster R-CNN, with half the last channels
and four more levels for SSDLite. Layers are named as in its state dict."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import layers

from holdfast.detectors.torchvision.named_layers import Normalisation, activated, normalised

Tensor = Any


class InvertedResidual(NamedTuple):
    """One row of table 1 of the paper."""

    kernel: int
    expanded: int
    channels: int
    squeeze: bool
    activation: str
    stride: int


_FIRST = (
    InvertedResidual(3, 16, 16, False, "relu", 1), InvertedResidual(3, 64, 24, False, "relu", 2),
    InvertedResidual(3, 72, 24, False, "relu", 1), InvertedResidual(5, 72, 40, True, "relu", 2),
    InvertedResidual(5, 120, 40, True, "relu", 1), InvertedResidual(5, 120, 40, True, "relu", 1),
    InvertedResidual(3, 240, 80, False, "hard_swish", 2), InvertedResidual(3, 200, 80, False, "hard_swish", 1),
    InvertedResidual(3, 184, 80, False, "hard_swish", 1), InvertedResidual(3, 184, 80, False, "hard_swish", 1),
    InvertedResidual(3, 480, 112, True, "hard_swish", 1), InvertedResidual(3, 672, 112, True, "hard_swish", 1),
)  # fmt: skip
EXTRA_CHANNELS = (512, 256, 256, 128)
STEM_CHANNELS = 16
C4 = 13  # the last block with a stride; SSDLite takes its expansion

#: Of the whole network: (block, its last layer), the taps, and where a stage ends.
WHOLE_CUTS = tuple((f"block_{i}", f"backbone.body.{i}-out") for i in range(17))
WHOLE_TAPS = (f"block_{C4}", "block_16")
WHOLE_STAGES = ("block_1", "block_3", "block_6", "block_12", "block_15", "block_16")
#: Of SSDLite's.
LITE_CUTS = (
    *((f"block_{i}", f"backbone.features.0.{i}-out") for i in range(C4)),
    ("features_0", f"backbone.features.0.{C4}-out"),
    ("block_13", "backbone.features.1.0-out"),
    ("block_14", "backbone.features.1.1-out"),
    ("block_15", "backbone.features.1.2-out"),
    ("features_1", "backbone.features.1.3-out"),
    *((f"extra_{i}", f"backbone.extra.{i}-out") for i in range(len(EXTRA_CHANNELS))),
)
LITE_TAPS = ("features_0", "features_1", *(f"extra_{i}" for i in range(len(EXTRA_CHANNELS))))
LITE_STAGES = ("block_1", "block_3", "block_6", "block_12", "block_15", "features_1")


def mobilenet_v3_large(shape: tuple[int, int, int], norm: Normalisation) -> keras.Model:
    """Without its classifier."""
    images = keras.Input(shape)
    x = _stem(images, "backbone.body.0", norm)
    for index, row in enumerate((*_FIRST, *_last(160)), start=1):
        x = _block(x, row, f"backbone.body.{index}", norm)
    x = _conv(x, 960, 1, "backbone.body.16", norm)
    return keras.Model(images, x, name="mobilenet_v3_large")


def mobilenet_v3_large_lite(shape: tuple[int, int, int], norm: Normalisation) -> keras.Model:
    """With half the channels behind C4, which is cut behind its expansion, and SSDLite's further levels."""
    images = keras.Input(shape)
    x = _stem(images, "backbone.features.0.0", norm)
    for index, row in enumerate(_FIRST, start=1):
        x = _block(x, row, f"backbone.features.0.{index}", norm)
    c4, *rest = _last(80)
    x = _conv(x, c4.expanded, 1, f"backbone.features.0.{C4}", norm)
    x = _behind_expansion(x, c4, "backbone.features.1.0", 1, norm)
    x = layers.Activation("linear", name="backbone.features.1.0-out")(x)
    for index, row in enumerate(rest, start=1):
        x = _block(x, row, f"backbone.features.1.{index}", norm)
    x = _conv(x, 480, 1, "backbone.features.1.3", norm)
    for index, channels in enumerate(EXTRA_CHANNELS):
        x = _extra(x, channels, f"backbone.extra.{index}", norm)
    return keras.Model(images, x, name="mobilenet_v3_large_lite")


def _last(channels: int) -> tuple[InvertedResidual, ...]:
    wide = InvertedResidual(5, 6 * channels, channels, True, "hard_swish", 1)
    return InvertedResidual(5, 672, channels, True, "hard_swish", 2), wide, wide


def _stem(images: Tensor, name: str, norm: Normalisation) -> Tensor:
    x = normalised(images, STEM_CHANNELS, 3, 2, (f"{name}.0", f"{name}.1"), norm)
    return activated(x, "hard_swish", f"{name}-out")


def _conv(x: Tensor, channels: int, kernel: int, name: str, norm: Normalisation) -> Tensor:
    x = normalised(x, channels, kernel, 1, (f"{name}.0", f"{name}.1"), norm)
    return activated(x, "hard_swish", f"{name}-out")


def _block(x: Tensor, row: InvertedResidual, name: str, norm: Normalisation) -> Tensor:
    start, first = x, 0
    if row.expanded != x.shape[-1]:
        names = (f"{name}.block.0.0", f"{name}.block.0.1")
        x, first = normalised(x, row.expanded, 1, 1, names, norm, activation=row.activation), 1
    x = _behind_expansion(x, row, f"{name}.block", first, norm)
    if row.stride == 1 and row.channels == start.shape[-1]:
        return layers.Add(name=f"{name}-out")([x, start])
    return layers.Activation("linear", name=f"{name}-out")(x)


def _behind_expansion(x: Tensor, row: InvertedResidual, name: str, first: int, norm: Normalisation) -> Tensor:
    """The depthwise convolution, the squeeze-and-excitation and the projection; numbered from `first` on."""
    names = (f"{name}.{first}.0", f"{name}.{first}.1")
    x = normalised(
        x, row.expanded, row.kernel, row.stride, names, norm, activation=row.activation, depthwise=True
    )
    if row.squeeze:
        first += 1
        x = _squeeze_excite(x, row.expanded, f"{name}.{first}")
    first += 1
    return normalised(x, row.channels, 1, 1, (f"{name}.{first}.0", f"{name}.{first}.1"), norm)


def _squeeze_excite(x: Tensor, channels: int, name: str) -> Tensor:
    y = layers.GlobalAveragePooling2D(keepdims=True, name=f"{name}.avgpool")(x)
    y = layers.Conv2D(_divisible(channels // 4), 1, name=f"{name}.fc1")(y)
    y = layers.Activation("relu", name=f"{name}.relu")(y)
    y = layers.Conv2D(channels, 1, name=f"{name}.fc2")(y)
    y = layers.Activation("hard_sigmoid", name=f"{name}.scale")(y)
    return layers.Multiply(name=f"{name}.multiply")([x, y])


def _divisible(channels: float, by: int = 8) -> int:
    """The nearest multiple of eight that takes away no more than a tenth (the papers' published code)."""
    rounded = max(by, int(channels + by / 2) // by * by)
    return rounded + by if rounded < 0.9 * channels else rounded


def _extra(x: Tensor, channels: int, name: str, norm: Normalisation) -> Tensor:
    inner = channels // 2
    x = normalised(x, inner, 1, 1, (f"{name}.0.0", f"{name}.0.1"), norm, activation="relu6")
    x = normalised(x, inner, 3, 2, (f"{name}.1.0", f"{name}.1.1"), norm, activation="relu6", depthwise=True)
    x = normalised(x, channels, 1, 1, (f"{name}.2.0", f"{name}.2.1"), norm)
    return activated(x, "relu6", f"{name}-out")
