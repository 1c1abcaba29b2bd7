"""Prediction heads. What they give is float32 whatever the precision of the rest.

The products of a last convolution are of the features' precision, as every other convolution's; its bias, which holds
the prior, is added in float32, and so is all that follows.
"""

# mypy: allow-subclassing-any

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import initializers, layers, ops

from holdfast.detectors.backbones.backbone import group_normalization
from holdfast.detectors.fusion.fuse import convolution
from holdfast.detectors.fusion.relu_from_output import Relu, relu
from holdfast.detectors.fusion.remat import full_precision, rematerialised
from holdfast.detectors.ops.losses import prior_bias

Tensor = Any

CLASS_PRIOR = 0.01  # what a fresh class head says of every class (Lin et al. 2017, section 4.1)


class Predictor(keras.layers.Layer):
    """One convolution from features (b, h, w, c) to `anchors` x `values` numbers a cell: (b, h * w * anchors, values).

    `light` makes it depthwise and pointwise (SSDLite: Sandler et al. 2018, section 6.2).
    """

    def __init__(
        self, anchors: int, values: int, bias: list[float], *, light: bool = False, kernel: int = 3, name: str
    ) -> None:
        super().__init__(name=name, dtype="float32", autocast=False)  # features come as they are
        self.values = values
        self.light = light
        small = initializers.RandomNormal(stddev=0.01)
        repeated = initializers.Constant(0.0) if not any(bias) else _Tiled(tuple(bias))
        if light:
            self.spread = layers.DepthwiseConv2D(3, padding="same", use_bias=False, name="spread")
            self.activation = layers.ReLU(6.0, name="activation")
        self.out = layers.Conv2D(
            anchors * values, 1 if light else kernel, padding="same", kernel_initializer=small,
            bias_initializer=repeated, dtype="float32", name="out",
        )  # fmt: skip

    def build(self, shape: tuple[int, ...]) -> None:
        if self.light:
            self.normalise = group_normalization(shape[-1], "normalise")
            self.spread.build(shape)
            self.normalise.build(shape)
        self.out.build(shape)

    def call(self, x: Tensor) -> Tensor:
        if self.light:
            x = self.activation(self.normalise(self.spread(x)))
        return self.shaped(_predicted(x, self.out.kernel, self.out.bias))

    def apart(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The convolution, (b, h * w, anchors * values), in the precision of `x`, and the bias that it lacks."""
        with full_precision():
            kernel, bias = ops.convert_to_tensor(self.out.kernel), ops.convert_to_tensor(self.out.bias)
        x = _convolved(x, kernel)
        return ops.reshape(x, (-1, x.shape[1] * x.shape[2], x.shape[3])), bias

    def shaped(self, x: Tensor) -> Tensor:
        return ops.reshape(x, (-1, x.shape[1] * x.shape[2] * x.shape[3] // self.values, self.values))


class MergedPredictors(keras.layers.Layer):
    """Two heads over the same map as one convolution: the map is read once, and its gradient written once.

    It has no weights of its own and does not hold the heads: their names stay what they are. Heads that are not
    built, and light ones, whose features differ, are called one after the other.
    """

    def __init__(self, name: str = "together") -> None:
        super().__init__(name=name, dtype="float32", autocast=False)

    def call(self, x: Tensor, heads: Callable[[], tuple[Predictor, Predictor]]) -> tuple[Tensor, Tensor]:
        first, second = heads()
        kernel = ops.concatenate([first.out.kernel, second.out.kernel], axis=-1)
        both = _predicted(x, kernel, ops.concatenate([first.out.bias, second.out.bias], axis=0))
        edge = first.out.filters
        return first.shaped(both[..., :edge]), second.shaped(both[..., edge:])

    def of(self, first: Predictor, second: Predictor, x: Tensor) -> tuple[Tensor, Tensor]:
        if first.light or not (first.built and second.built):
            return first(x), second(x)
        found: tuple[Tensor, Tensor] = self(x, heads=lambda: (first, second))
        return found


def _predicted(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    return ops.cast(_convolved(x, kernel), "float32") + ops.cast(bias, "float32")


def _convolved(x: Tensor, kernel: Tensor) -> Tensor:
    """Outputs are filled to a multiple of eight, which halves are loaded by, and cut again."""
    outputs = kernel.shape[-1]
    if keras.backend.backend() == "jax":
        kernel = ops.pad(kernel, ((0, 0), (0, 0), (0, 0), (0, -outputs % 8)))
    x = ops.conv(x, ops.cast(kernel, x.dtype), padding="same", data_format="channels_last")
    return x[..., :outputs]


class _Tiled(initializers.Initializer):
    """The same few numbers over and over: one bias a class, for every anchor."""

    def __init__(self, pattern: tuple[float, ...]) -> None:
        self.pattern = pattern

    def __call__(self, shape: tuple[int, ...], dtype: Any = None) -> Tensor:
        return ops.tile(ops.convert_to_tensor(self.pattern, dtype=dtype), shape[0] // len(self.pattern))

    def get_config(self) -> dict[str, Any]:
        return {"pattern": self.pattern}


class Tower(keras.layers.Layer):
    """`depth` 3 x 3 convolutions with ReLU, the same weights at every level; `light` ones are separable, normalised."""

    def __init__(self, depth: int, channels: int, *, light: bool, name: str) -> None:
        super().__init__(name=name)
        self.light = light
        self.steps: list[keras.layers.Layer] = []
        for i in range(depth):
            if light:
                conv = layers.SeparableConv2D(channels, 3, padding="same", use_bias=False, name=f"conv_{i}")
                self.steps += [conv, group_normalization(channels, f"normalise_{i}"), Relu(name=f"relu_{i}")]
            else:
                small = initializers.RandomNormal(stddev=0.01)
                self.steps.append(
                    layers.Conv2D(channels, 3, padding="same", kernel_initializer=small, name=f"conv_{i}")
                )

    def build(self, shape: tuple[int, ...]) -> None:
        for step in self.steps:
            step.build(shape)

    def call(self, x: Tensor) -> Tensor:
        if self.light:
            for step in self.steps:
                x = step(x)
            return x
        for conv in self.steps:
            x = convolution(conv, x, active=True)
        return x


class PyramidHead(keras.layers.Layer):
    """RetinaNet's two towers over all levels: class logits (b, a, classes) and box offsets (b, a, 4)."""

    def __init__(
        self,
        anchors: int,
        classes: int,
        channels: int,
        *,
        light: bool,
        depth: int = 4,
        rematerialise: bool = False,
    ) -> None:
        super().__init__(name="head")
        self.rematerialise = rematerialise
        self.class_tower = Tower(depth, channels, light=light, name="class_tower")
        self.box_tower = Tower(depth, channels, light=light, name="box_tower")
        self.class_out = Predictor(anchors, classes, [prior_bias(CLASS_PRIOR)] * classes, name="class_out")
        self.box_out = Predictor(anchors, 4, [0.0], name="box_out")

    def call(self, maps: list[Tensor]) -> tuple[Tensor, Tensor]:
        logits = [self.class_out(self._run(self.class_tower, level)) for level in maps]
        return ops.concatenate(logits, axis=1), ops.concatenate(self._offsets(maps), axis=1)

    def apart(self, maps: list[Tensor]) -> tuple[list[tuple[Tensor, Tensor]], list[Tensor]]:
        """Class outputs and their bias, and offsets, level by level: a loss that sums need not join them first."""
        outputs = [self.class_out.apart(self._run(self.class_tower, level)) for level in maps]
        return outputs, self._offsets(maps)

    def _offsets(self, maps: list[Tensor]) -> list[Tensor]:
        return [self.box_out(self._run(self.box_tower, level)) for level in maps]

    def _run(self, tower: Tower, level: Tensor) -> Tensor:
        return rematerialised(tower, level) if self.rematerialise else tower(level)


class ProposalHead(keras.layers.Layer):
    """Faster R-CNN's region proposals: objectness (b, a) and box offsets (b, a, 4), level by level."""

    def __init__(self, anchors: int, channels: int) -> None:
        super().__init__(name="rpn")
        small = initializers.RandomNormal(stddev=0.01)
        self.conv = layers.Conv2D(
            channels, 3, padding="same", activation=relu, kernel_initializer=small, name="conv"
        )
        self.object_out = Predictor(anchors, 1, [0.0], kernel=1, name="object_out")
        self.box_out = Predictor(anchors, 4, [0.0], kernel=1, name="box_out")
        self.together = MergedPredictors()

    def build(self, shapes: list[tuple[int, ...]]) -> None:
        self.conv.build(shapes[0])

    def call(self, maps: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        seen = [convolution(self.conv, level, active=True) for level in maps]
        found = [self.together.of(self.object_out, self.box_out, level) for level in seen]
        return [objectness[..., 0] for objectness, _ in found], [offsets for _, offsets in found]


class RegionHead(keras.layers.Layer):
    """Two dense layers over each region: class logits (n, classes + 1), background last; offsets (n, classes, 4)."""

    def __init__(self, classes: int, width: int, background_bias: float) -> None:
        super().__init__(name="region_head")
        self.classes = classes
        even = initializers.VarianceScaling(1.0, mode="fan_in", distribution="uniform")
        self.first = layers.Dense(width, activation=relu, kernel_initializer=even, name="first")
        self.second = layers.Dense(width, activation=relu, kernel_initializer=even, name="second")
        self.class_out = layers.Dense(
            classes + 1, kernel_initializer=initializers.RandomNormal(stddev=0.01),
            bias_initializer=_Tiled((0.0,) * classes + (background_bias,)), dtype="float32", name="class_out",
        )  # fmt: skip
        self.box_out = layers.Dense(
            classes * 4,
            kernel_initializer=initializers.RandomNormal(stddev=0.001),
            dtype="float32",
            name="box_out",
        )

    def call(self, regions: Tensor) -> tuple[Tensor, Tensor]:
        x = self.second(self.first(regions))
        return self.class_out(x), ops.reshape(self.box_out(x), (-1, self.classes, 4))
