"""Layers that the API adds to a backbone: normalised convolutions, extra levels and the feature pyramid."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from holdfast.detectors.object_detection_api.api_backbones import active
from holdfast.detectors.object_detection_api.api_options import SsdOptions

Tensor = Any

#: (channels, stride of 2) of the levels that SSD adds to MobileNetV2's two.
SSD_EXTRA_CHANNELS = (512, 256, 256, 128)


class ConvBlock(keras.layers.Layer):
    """A convolution, plain or depthwise with a pointwise one behind it, then batch normalisation by stored statistics
    and the activation."""

    def __init__(
        self,
        channels: int,
        kernel: int,
        stride: int,
        options: SsdOptions,
        *,
        separable: bool = False,
        name: str,
    ) -> None:
        super().__init__(name=name)
        self.conv = convolution(
            channels, kernel, stride, separable=separable, use_bias=not options.batch_norm, name="conv"
        )
        self.norm = (
            layers.BatchNormalization(epsilon=options.epsilon, name="norm") if options.batch_norm else None
        )
        self.activation = active(options.activation, "activation")

    def call(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        if self.norm is not None:
            x = self.norm(x, training=False)
        return self.activation(x)


def convolution(
    channels: int, kernel: int, stride: int, *, separable: bool, use_bias: bool, name: str, stddev: float = 0.03,
    **more: Any,
) -> keras.layers.Layer:  # fmt: skip
    small = keras.initializers.RandomNormal(stddev=stddev)
    if separable:
        return layers.SeparableConv2D(
            channels, kernel, stride, padding="same", use_bias=use_bias, depthwise_initializer="he_uniform",
            pointwise_initializer=small, name=name, **more,
        )  # fmt: skip
    return layers.Conv2D(
        channels,
        kernel,
        stride,
        padding="same",
        use_bias=use_bias,
        kernel_initializer=small,
        name=name,
        **more,
    )


class ExtraFeatureMaps(keras.layers.Layer):
    """SSD's levels below the backbone's last: a 1 x 1 and a strided 3 x 3 convolution each."""

    def __init__(self, options: SsdOptions, levels: int) -> None:
        super().__init__(name="extra")
        self.levels: list[list[keras.layers.Layer]] = []
        for index, channels in enumerate(SSD_EXTRA_CHANNELS[: levels - 2]):
            blocks = [ConvBlock(channels // 2, 1, 1, options, name=f"level_{index}_squeeze")]
            if options.separable:
                blocks.append(DepthwiseBlock(3, 2, options, name=f"level_{index}_spread"))
                blocks.append(ConvBlock(channels, 1, 1, options, name=f"level_{index}_widen"))
            else:
                blocks.append(ConvBlock(channels, 3, 2, options, name=f"level_{index}_widen"))
            self.levels.append(blocks)

    def call(self, features: list[Tensor]) -> list[Tensor]:
        found = list(features)
        for blocks in self.levels:
            x = found[-1]
            for block in blocks:
                x = block(x)
            found.append(x)
        return found


class DepthwiseBlock(keras.layers.Layer):
    """A depthwise convolution, its normalisation and the activation."""

    def __init__(self, kernel: int, stride: int, options: SsdOptions, *, name: str) -> None:
        super().__init__(name=name)
        self.conv = layers.DepthwiseConv2D(
            kernel, stride, padding="same", use_bias=not options.batch_norm, depthwise_initializer="he_uniform",
            name="conv",
        )  # fmt: skip
        self.norm = (
            layers.BatchNormalization(epsilon=options.epsilon, name="norm") if options.batch_norm else None
        )
        self.activation = active(options.activation, "activation")

    def call(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        return self.activation(x if self.norm is None else self.norm(x, training=False))


class TopDownPyramid(keras.layers.Layer):
    """The API's feature pyramid: the coarsest backbone level is projected and not smoothed, and the levels below it
    are strided convolutions of it."""

    def __init__(self, options: SsdOptions) -> None:
        super().__init__(name="pyramid")
        channels = options.pyramid_channels
        last = min(options.max_level, 5)
        count = last + 1 - options.min_level
        self.project = [
            convolution(channels, 1, 1, separable=False, use_bias=True, name=f"project_{i}")
            for i in range(count)
        ]
        self.smooth = [
            ConvBlock(channels, 3, 1, options, separable=options.separable, name=f"smooth_{i}")
            for i in range(count - 1)
        ]
        self.coarser = [
            ConvBlock(channels, 3, 2, options, separable=options.separable, name=f"coarser_{i}")
            for i in range(options.max_level - last)
        ]

    def call(self, features: list[Tensor]) -> list[Tensor]:
        top = self.project[-1](features[-1])
        maps = [top]
        for index in reversed(range(len(features) - 1)):
            beside = self.project[index](features[index])
            merged = beside + _doubled(maps[0], beside.shape[1], beside.shape[2])
            maps.insert(0, self.smooth[index](merged))
        for block in self.coarser:
            maps.append(block(maps[-1]))
        return maps


def _doubled(x: Tensor, height: int, width: int) -> Tensor:
    return ops.repeat(ops.repeat(x, 2, axis=1), 2, axis=2)[:, :height, :width]
