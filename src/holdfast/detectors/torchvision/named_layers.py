"""Convolutions and normalisations whose layers have the names of torch's modules, so that a weight's name is both.

torch pads both sides alike, where "same" with a stride of two pads the far side alone: strided layers are padded
before, and take what is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
from keras import layers

from holdfast.detectors.fusion.relu_from_output import relu6

Tensor = Any
Activation = Callable[[Tensor], Tensor] | str | None

#: What torch calls a variable.
_PARAMETERS = {
    "kernel": ".weight", "bias": ".bias", "gamma": ".weight", "beta": ".bias",
    "moving_mean": ".running_mean", "moving_variance": ".running_var", "factor": "",
}  # fmt: skip


def torch_name(path: str) -> str:
    """`backbone/backbone.body.conv1/kernel` -> `backbone.body.conv1.weight`."""
    *folders, variable = path.split("/")
    module = next(one for one in reversed(folders) if "." in one)
    return module.partition("-")[0] + _PARAMETERS[variable]


@dataclass(frozen=True, slots=True)
class Normalisation:
    """Of every batch normalisation of a network. `frozen`: its scale and shift do not train either."""

    epsilon: float
    frozen: bool

    def layer(self, name: str) -> keras.layers.Layer:
        return layers.BatchNormalization(epsilon=self.epsilon, name=name, trainable=not self.frozen)


def convolution_layer(
    x: Tensor, channels: int, kernel: int, stride: int, name: str, *, bias: bool, depthwise: bool = False,
    activation: Any = None,
) -> Tensor:  # fmt: skip
    padding = "same"
    if stride > 1:
        padding = "valid"
        x = layers.ZeroPadding2D(kernel // 2, name=f"{name}-pad")(x) if kernel > 1 else x
    if depthwise:
        return layers.DepthwiseConv2D(kernel, stride, padding=padding, use_bias=bias, name=name)(x)
    return layers.Conv2D(
        channels, kernel, stride, padding=padding, use_bias=bias, name=name, activation=activation
    )(x)


def normalised(
    x: Tensor, channels: int, kernel: int, stride: int, names: tuple[str, str], norm: Normalisation, *,
    activation: Activation = None, depthwise: bool = False,
) -> Tensor:  # fmt: skip
    """Convolution, batch normalisation and activation; `names` are the first two's."""
    x = convolution_layer(x, channels, kernel, stride, names[0], bias=False, depthwise=depthwise)
    x = norm.layer(names[1])(x)
    return activated(x, activation, f"{names[1]}-act")


def hard_swish(x: Tensor) -> Tensor:
    """x relu6(x + 3) / 6. Keras' own is taken for a part of the convolution before it by TensorFlow's optimiser of
    graphs, which then fails with a message and leaves the graph as it is."""
    return relu6(x + 3.0) * (x * (1.0 / 6.0))


def activated(x: Tensor, activation: Activation, name: str) -> Tensor:
    if activation is None:
        return x
    if activation == "relu6":
        return layers.ReLU(6.0, name=name)(x)
    return layers.Activation(hard_swish if activation == "hard_swish" else activation, name=name)(x)
