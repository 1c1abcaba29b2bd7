"""The API's backbones: MobileNetV2 and ResNet V1, with the activation and the epsilon that a configuration chooses.

ResNet differs from Keras' own in its first pool, which pads as TensorFlow does, and in convolutions without bias.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import layers

from holdfast.detectors.backbones.backbone import MOBILENET_V2_CUTS
from holdfast.detectors.backbones.blocks import Backbone, split

Tensor = Any

RESNET_BLOCKS = {"resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3), "resnet152": (3, 8, 36, 3)}
_WIDTHS = (64, 128, 256, 512)

#: Features of stride 4, 8, 16, 32 of a feature pyramid, and those of SSD.
_MOBILENET_TAPS = ("block_2", "block_5", "block_12", "top")
_SSD_TAPS = ("block_13_expand", "top")


def mobilenet_backbone(
    size: tuple[int, int], *, activation: str, epsilon: float, min_level: int | None, rematerialise: bool
) -> Backbone:
    """`min_level` is the first level of a pyramid; None: SSD's two maps."""
    with keras.name_scope("backbone"):
        network = keras.applications.MobileNetV2(input_shape=(*size, 3), include_top=False, weights=None)
        network = _adjusted(network, activation, epsilon)
    taps = _SSD_TAPS if min_level is None else _MOBILENET_TAPS[min_level - 2 :]
    return Backbone(
        split(network, MOBILENET_V2_CUTS), taps, preprocessing="minus-one-to-one", rematerialise=rematerialise
    )


def resnet_backbone(
    name: str,
    size: tuple[int, int],
    *,
    activation: str,
    epsilon: float,
    stages: tuple[int, ...],
    rematerialise: bool,
) -> Backbone:
    """The features of `stages`, of 2 to 5. Its first convolution takes BGR: an imported kernel is turned around."""
    with keras.name_scope("backbone"):
        network = resnet_v1((*size, 3), RESNET_BLOCKS[name], activation, epsilon, last=max(stages))
    cuts = [("stem", "pool1_pool")]
    for stage, count in zip(range(2, max(stages) + 1), RESNET_BLOCKS[name], strict=False):
        cuts += [(f"conv{stage}_block{i}", f"conv{stage}_block{i}_out") for i in range(1, count + 1)]
    taps = [f"conv{stage}_block{RESNET_BLOCKS[name][stage - 2]}" for stage in stages]
    return Backbone(split(network, cuts), taps, preprocessing="caffe", rematerialise=rematerialise)


def resnet_v1(
    shape: tuple[int, int, int], blocks: tuple[int, ...], activation: str, epsilon: float, *, last: int = 5
) -> keras.Model:
    """Up to the stage `last`; layers are named as Keras names those of its ResNet50."""
    images = keras.Input(shape)
    x = layers.ZeroPadding2D(3, name="conv1_pad")(images)
    x = layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1_conv")(x)
    x = layers.BatchNormalization(epsilon=epsilon, name="conv1_bn")(x)
    x = layers.MaxPooling2D(3, 2, padding="same", name="pool1_pool")(active(activation, "conv1_relu")(x))
    for stage, count in zip(range(2, last + 1), blocks, strict=False):
        x = resnet_stage(x, stage, count, activation, epsilon)
    return keras.Model(images, x)


def resnet_stage(x: Tensor, stage: int, count: int, activation: str, epsilon: float) -> Tensor:
    """A stage of bottlenecks; the stride is in the first 1 x 1 convolution, as in the original ResNet."""
    for block in range(1, count + 1):
        stride = 2 if block == 1 and stage > 2 else 1
        name, width = f"conv{stage}_block{block}", _WIDTHS[stage - 2]
        shortcut = _normalised(x, 4 * width, 1, stride, epsilon, f"{name}_0") if block == 1 else x
        y = active(activation, f"{name}_1_relu")(_normalised(x, width, 1, stride, epsilon, f"{name}_1"))
        y = active(activation, f"{name}_2_relu")(_normalised(y, width, 3, 1, epsilon, f"{name}_2"))
        y = _normalised(y, 4 * width, 1, 1, epsilon, f"{name}_3")
        x = active(activation, f"{name}_out")(layers.Add(name=f"{name}_add")([shortcut, y]))
    return x


def _normalised(x: Tensor, filters: int, kernel: int, stride: int, epsilon: float, name: str) -> Tensor:
    x = layers.Conv2D(filters, kernel, stride, padding="same", use_bias=False, name=f"{name}_conv")(x)
    return layers.BatchNormalization(epsilon=epsilon, name=f"{name}_bn")(x)


def active(activation: str, name: str) -> keras.layers.Layer:
    """relu, relu6 or none, as a layer."""
    if activation == "none":
        return layers.Identity(name=name)
    return layers.ReLU(6.0 if activation == "relu6" else None, name=name)


def _adjusted(network: keras.Model, activation: str, epsilon: float) -> keras.Model:
    def replaced(layer: keras.layers.Layer) -> keras.layers.Layer:
        if isinstance(layer, layers.BatchNormalization):
            return layers.BatchNormalization.from_config({**layer.get_config(), "epsilon": epsilon})
        if isinstance(layer, layers.ReLU):
            return active(activation, layer.name)
        return layer.__class__.from_config(layer.get_config())

    if activation == "relu6" and epsilon == 1e-3:
        return network
    return keras.models.clone_model(network, clone_function=replaced)
