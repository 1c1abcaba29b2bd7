"""torchvision's pyramid and heads. Layers are named as in its state dict; logits and offsets are float32."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
from keras import initializers, layers, ops

from holdfast.detectors.heads import CLASS_PRIOR, Predictor
from holdfast.detectors.ops.losses import background_bias, prior_bias
from holdfast.detectors.torchvision.named_layers import Normalisation

Tensor = Any

CHANNELS = 256


class NamedConv(keras.layers.Layer):
    """A 1 x 1 or 3 x 3 convolution, then a normalisation ("batch", "group" or none) and a ReLU.

    `module` is torch's name of the sequence, whose first is the convolution, or of the convolution itself.
    """

    def __init__(
        self, module: str, kernel: int, *, stride: int = 1, norm: str = "", active: bool = False,
        channels: int = CHANNELS, sequence: bool = True, stddev: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name=f"{module}-module")
        start = (
            initializers.RandomNormal(stddev=stddev)
            if stddev
            else initializers.VarianceScaling(1.0, mode="fan_in", distribution="uniform")
        )
        self.stride, self.active = stride, active
        self.conv = layers.Conv2D(
            channels, kernel, stride, padding="same" if stride == 1 else "valid", use_bias=not norm,
            kernel_initializer=start, name=f"{module}.0" if sequence else module,
        )  # fmt: skip
        self.norm = _norm(norm, f"{module}.1", channels)

    def build(self, shape: tuple[int, ...]) -> None:
        padded = 2 if self.stride > 1 else 0
        self.conv.build((shape[0], *(side + padded for side in shape[1:3]), shape[3]))
        if self.norm is not None:
            self.norm.build((*shape[:-1], self.conv.filters))

    def call(self, x: Tensor) -> Tensor:
        if self.stride > 1:
            x = ops.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        x = self.conv(x)
        if isinstance(self.norm, layers.BatchNormalization):
            x = self.norm(x, training=False)
        elif self.norm is not None:
            x = self.norm(x)
        return ops.relu(x) if self.active else x


def _norm(kind: str, name: str, channels: int) -> keras.layers.Layer | None:
    if kind == "batch":
        return Normalisation(1e-5, frozen=False).layer(name)
    return layers.GroupNormalization(32, epsilon=1e-5, name=name) if kind == "group" else None


class TorchvisionPyramid(keras.layers.Layer):
    """The feature pyramid. `coarser` adds one map by subsampling ("pool"), or two by strided convolutions of the last
    map ("p5") or of the backbone's last features ("c5")."""

    def __init__(self, levels: int, coarser: str, *, norm: str = "") -> None:
        super().__init__(name="pyramid")
        name = "backbone.fpn"
        self.coarser = coarser
        self.inner = [NamedConv(f"{name}.inner_blocks.{i}", 1, norm=norm) for i in range(levels)]
        self.outer = [NamedConv(f"{name}.layer_blocks.{i}", 3, norm=norm) for i in range(levels)]
        self.further = [
            NamedConv(f"{name}.extra_blocks.{one}", 3, stride=2, sequence=False)
            for one in (("p6", "p7") if coarser != "pool" else ())
        ]

    def call(self, features: list[Tensor]) -> list[Tensor]:
        inner = [conv(feature) for conv, feature in zip(self.inner, features, strict=True)]
        merged = [inner[-1]]
        for finer in reversed(inner[:-1]):
            merged.insert(0, finer + _enlarged(merged[0], finer.shape[1], finer.shape[2]))
        maps = [conv(level) for conv, level in zip(self.outer, merged, strict=True)]
        if self.coarser == "pool":
            return [*maps, maps[-1][:, ::2, ::2]]
        p6 = self.further[0](maps[-1] if self.coarser == "p5" else features[-1])
        return [*maps, p6, self.further[1](ops.relu(p6))]


def _enlarged(x: Tensor, height: int, width: int) -> Tensor:
    """Nearest neighbour to twice the size or one less, or as it is."""
    if (x.shape[1], x.shape[2]) == (height, width):
        return x
    return ops.repeat(ops.repeat(x, 2, axis=1), 2, axis=2)[:, :height, :width]


class LitePredictor(keras.layers.Layer):
    """SSDLite's: a depthwise convolution, normalised, and a 1 x 1."""

    def __init__(
        self, module: str, anchors: int, values: int, bias: list[float], norm: Normalisation
    ) -> None:
        super().__init__(name=f"{module}-module")
        self.spread = layers.DepthwiseConv2D(3, padding="same", use_bias=False, name=f"{module}.0.0")
        self.norm = norm.layer(f"{module}.0.1")
        self.out = Predictor(anchors, values, bias, kernel=1, name=f"{module}.1")

    def build(self, shape: tuple[int, ...]) -> None:
        self.spread.build(shape)
        self.norm.build(shape)
        self.out.build(shape)

    def call(self, x: Tensor) -> Tensor:
        return self.out(ops.relu6(self.norm(self.spread(x), training=False)))


def ssd_heads(
    anchors: list[int], classes: int, lite: Normalisation | None
) -> tuple[list[keras.layers.Layer], list[keras.layers.Layer]]:
    """Class logits, background last, and offsets; one of each a level."""
    bias = [0.0] * classes + [background_bias(CLASS_PRIOR, classes)]

    def predictor(kind: str, level: int, count: int, values: int, start: list[float]) -> keras.layers.Layer:
        module = f"head.{kind}_head.module_list.{level}"
        if lite is not None:
            return LitePredictor(module, count, values, start, lite)
        return Predictor(count, values, start, name=module)

    return (
        [predictor("classification", i, count, classes + 1, bias) for i, count in enumerate(anchors)],
        [predictor("regression", i, count, 4, [0.0]) for i, count in enumerate(anchors)],
    )


class TorchvisionTower(keras.layers.Layer):
    """RetinaNet's four convolutions and what predicts from them, the same weights at every level."""

    def __init__(self, kind: str, out: str, anchors: int, values: int, bias: float, *, norm: str) -> None:
        module = f"head.{kind}_head"
        super().__init__(name=f"{module}-module")
        self.steps = [
            NamedConv(f"{module}.conv.{i}", 3, norm=norm, active=True, stddev=0.01) for i in range(4)
        ]
        self.out = Predictor(anchors, values, [bias] * values, name=f"{module}.{out}")

    def call(self, x: Tensor) -> Tensor:
        for step in self.steps:
            x = step(x)
        return self.out(x)


def retinanet_towers(anchors: int, classes: int, *, norm: str) -> tuple[TorchvisionTower, TorchvisionTower]:
    return (
        TorchvisionTower(
            "classification", "cls_logits", anchors, classes, prior_bias(CLASS_PRIOR), norm=norm
        ),
        TorchvisionTower("regression", "bbox_reg", anchors, 4, 0.0, norm=norm),
    )


class TorchvisionProposalHead(keras.layers.Layer):
    """Objectness (b, a) and offsets (b, a, 4), level by level."""

    def __init__(self, anchors: int, depth: int) -> None:
        super().__init__(name="rpn.head-module")
        self.steps = [NamedConv(f"rpn.head.conv.{i}", 3, active=True, stddev=0.01) for i in range(depth)]
        self.object_out = Predictor(anchors, 1, [0.0], kernel=1, name="rpn.head.cls_logits")
        self.box_out = Predictor(anchors, 4, [0.0], kernel=1, name="rpn.head.bbox_pred")

    def call(self, maps: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        objectness, offsets = [], []
        for x in maps:
            for step in self.steps:
                x = step(x)
            objectness.append(self.object_out(x)[..., 0])
            offsets.append(self.box_out(x))
        return objectness, offsets


class TorchvisionRegionHead(keras.layers.Layer):
    """Regions (n, 7, 7, c) to class logits (n, classes + 1), background last, and offsets (n, classes, 4)."""

    def __init__(self, classes: int, *, convolutions: bool) -> None:
        super().__init__(name="roi_heads-module")
        self.classes = classes
        name = "roi_heads.box_head"
        self.convs = [
            NamedConv(f"{name}.{i}", 3, norm="batch", active=True) for i in range(4 if convolutions else 0)
        ]
        self.dense = [
            layers.Dense(1024, activation="relu", name=f"{name}.{one}")
            for one in (("5",) if convolutions else ("fc6", "fc7"))
        ]
        background = (0.0,) * classes + (background_bias(CLASS_PRIOR, classes),)
        self.class_out = layers.Dense(
            classes + 1, kernel_initializer=initializers.RandomNormal(stddev=0.01),
            bias_initializer=_given(background), dtype="float32", name="roi_heads.box_predictor.cls_score",
        )  # fmt: skip
        self.box_out = layers.Dense(
            classes * 4, kernel_initializer=initializers.RandomNormal(stddev=0.001), dtype="float32",
            name="roi_heads.box_predictor.bbox_pred",
        )  # fmt: skip

    def call(self, regions: Tensor) -> tuple[Tensor, Tensor]:
        x = regions
        for conv in self.convs:
            x = conv(x)
        x = ops.reshape(x, (-1, 7 * 7 * CHANNELS))
        for layer in self.dense:
            x = layer(x)
        return self.class_out(x), ops.reshape(self.box_out(x), (-1, self.classes, 4))


def _given(values: tuple[float, ...]) -> Any:
    return lambda shape, dtype=None: ops.convert_to_tensor(values, dtype=dtype)
