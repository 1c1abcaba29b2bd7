"""The API's box predictors. The background is the last class here, as everywhere in Holdfast; the API has it first."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
from keras import initializers, layers, ops

from holdfast.detectors.object_detection_api.api_backbones import active
from holdfast.detectors.object_detection_api.api_layers import DepthwiseBlock, convolution
from holdfast.detectors.object_detection_api.api_options import SsdOptions

Tensor = Any


class LevelPredictors(keras.layers.Layer):
    """SSD's: each level has a convolution of its own for classes, and one for boxes."""

    def __init__(self, options: SsdOptions, classes: int, anchors: list[int]) -> None:
        super().__init__(name="predictor")
        self.values = classes + 1
        self.kernel = options.head_kernel
        self.spread: list[tuple[keras.layers.Layer, keras.layers.Layer]] = []
        inner = _with_head_norm(options)
        if options.head_separable:
            self.spread_class = [
                DepthwiseBlock(self.kernel, 1, inner, name=f"class_spread_{i}") for i in range(len(anchors))
            ]
            self.spread_box = [
                DepthwiseBlock(self.kernel, 1, inner, name=f"box_spread_{i}") for i in range(len(anchors))
            ]
            self.spread = list(zip(self.spread_class, self.spread_box, strict=True))
        last = 1 if options.head_separable else self.kernel
        self.class_out = [
            _out(count * self.values, last, options.class_bias, f"class_out_{i}")
            for i, count in enumerate(anchors)
        ]
        self.box_out = [_out(count * 4, last, 0.0, f"box_out_{i}") for i, count in enumerate(anchors)]

    def call(self, maps: list[Tensor]) -> tuple[Tensor, Tensor]:
        logits, codes = [], []
        for index, x in enumerate(maps):
            spread_class, spread_box = self.spread[index] if self.spread else (_same, _same)
            logits.append(_rows(self.class_out[index](spread_class(x)), self.values))
            codes.append(_rows(self.box_out[index](spread_box(x)), 4))
        return ops.concatenate(logits, axis=1), ops.concatenate(codes, axis=1)


class SharedPredictor(keras.layers.Layer):
    """RetinaNet's: the same convolutions at every level, with a batch normalisation for each level."""

    def __init__(self, options: SsdOptions, classes: int, anchors: int, levels: int) -> None:
        super().__init__(name="predictor")
        self.values = classes + 1
        towers = ("tower",) if options.shared_tower else ("class_tower", "box_tower")
        self.towers = [LevelTower(options, levels, name) for name in towers]
        how: dict[str, Any] = {
            "separable": options.head_separable, "use_bias": True, "stddev": 0.01, "dtype": "float32"
        }  # fmt: skip
        bias = initializers.Constant(options.class_bias)
        self.class_out = convolution(
            anchors * self.values, options.head_kernel, 1, bias_initializer=bias, name="class_out", **how
        )
        self.box_out = convolution(anchors * 4, options.head_kernel, 1, name="box_out", **how)

    def call(self, maps: list[Tensor]) -> tuple[Tensor, Tensor]:
        logits, codes = [], []
        for index, x in enumerate(maps):
            seen = [tower(x, level=index) for tower in self.towers]
            logits.append(_rows(self.class_out(seen[0]), self.values))
            codes.append(_rows(self.box_out(seen[-1]), 4))
        return ops.concatenate(logits, axis=1), ops.concatenate(codes, axis=1)


class LevelTower(keras.layers.Layer):
    """Convolutions that all levels share, each followed by the normalisation of its level."""

    def __init__(self, options: SsdOptions, levels: int, name: str) -> None:
        super().__init__(name=name)
        count = options.head_layers
        self.convs = [
            convolution(
                options.head_channels, options.head_kernel, 1, separable=options.head_separable,
                use_bias=not options.head_batch_norm, name=f"conv_{i}",
            )
            for i in range(count)
        ]  # fmt: skip
        self.norms: list[list[keras.layers.Layer]] = []
        for level in range(levels if options.head_batch_norm else 0):
            self.norms.append([
                layers.BatchNormalization(epsilon=options.head_epsilon, name=f"norm_{i}_level_{level}")
                for i in range(count)
            ])  # fmt: skip
        self.activation = active(options.head_activation, "activation")

    def build(self, shape: tuple[int, ...]) -> None:
        for index, conv in enumerate(self.convs):
            conv.build(shape)
            shape = conv.compute_output_shape(shape)
            for level in self.norms:
                level[index].build(shape)

    def call(self, x: Tensor, level: int) -> Tensor:
        for index, conv in enumerate(self.convs):
            x = conv(x)
            if self.norms:
                x = self.norms[level][index](x, training=False)
            x = self.activation(x)
        return x


def _out(filters: int, kernel: int, bias: float, name: str) -> keras.layers.Layer:
    return layers.Conv2D(
        filters, kernel, padding="same", kernel_initializer=initializers.RandomNormal(stddev=0.01),
        bias_initializer=initializers.Constant(bias), dtype="float32", name=name,
    )  # fmt: skip


def _with_head_norm(options: SsdOptions) -> SsdOptions:
    """What the added layers are made with, but with the predictor's own normalisation."""
    return SsdOptions(
        activation=options.head_activation, epsilon=options.head_epsilon, batch_norm=options.head_batch_norm
    )


def _rows(x: Tensor, values: int) -> Tensor:
    return ops.reshape(x, (-1, x.shape[1] * x.shape[2] * x.shape[3] // values, values))


def _same(x: Tensor) -> Tensor:
    return x
