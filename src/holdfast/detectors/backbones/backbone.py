"""The backbones: which network, where it is cut, what its ImageNet weights expect to be fed."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
from keras import layers

from holdfast.detectors.backbones.blocks import Backbone, split
from holdfast.detectors.backbones.imagenet_weights import load_backbone_weights
from holdfast.detectors.backbones.resnext import resnext50
from holdfast.detectors.fusion.relu_from_output import relu

Tensor = Any

# The last layer of each block. MobileNetV2's block 13 is cut inside, where SSDLite takes its first features.
MOBILENET_V2_CUTS = (
    ("stem", "expanded_conv_project_BN"),
    *((f"block_{i}", f"block_{i}_{'project_BN' if i in (1, 3, 6, 10) else 'add'}") for i in range(1, 13)),
    ("block_13_expand", "block_13_expand_relu"),
    ("block_13", "block_13_project_BN"),
    ("block_14", "block_14_add"),
    ("block_15", "block_15_add"),
    ("block_16", "block_16_project_BN"),
    ("top", "out_relu"),
)  # fmt: skip
_RESNET50 = (
    ("stem", "pool1_pool"),
    *(
        (f"conv{stage}_block{i}", f"conv{stage}_block{i}_out")
        for stage, count in ((2, 3), (3, 4), (4, 6), (5, 3))
        for i in range(1, count + 1)
    ),
)
_VGG16 = (
    ("block1", "block1_pool"),
    ("block2", "block2_pool"),
    ("block3", "block3_pool"),
    ("block4", "block4_conv3"),
    ("block5", "fc7_relu"),
)

# Features of stride 4, 8, 16, 32 for the pyramids; of stride 8 or 16 and down for SSD.
_PYRAMID_TAPS = {
    "mobilenet_v2": ("block_2", "block_5", "block_12", "block_16"),
    "resnet50": ("conv2_block3", "conv3_block4", "conv4_block6", "conv5_block3"),
    "resnext50": ("conv2_block3", "conv3_block4", "conv4_block6", "conv5_block3"),
}
_SSD_TAPS = {
    "mobilenet_v2": ("block_13_expand", "top"),
    "resnet50": ("conv3_block4", "conv4_block6", "conv5_block3"),
    "vgg16": ("block4", "block5"),
}


# The last block of each stage: what computes features of one stride.
_STAGE_ENDS = {
    "mobilenet_v2": ("stem", "block_2", "block_5", "block_12", "top"),
    "resnet50": ("stem", "conv2_block3", "conv3_block4", "conv4_block6", "conv5_block3"),
    "resnext50": ("stem", "conv2_block3", "conv3_block4", "conv4_block6", "conv5_block3"),
    "vgg16": ("block1", "block2", "block3", "block4", "block5"),
}


def build_backbone(
    name: str,
    input_size: tuple[int, int],
    *,
    for_ssd: bool,
    weights: str | None = None,
    normalization: str = "frozen-batch",
    rematerialise: bool = False,
    without_finest: bool = False,
) -> Backbone:
    """`weights`: a file, a folder that holds it, "imagenet" for Keras' download, or None for fresh ones."""
    # So that the names of its weights say whose they are: freezing and fine-tuning go by them.
    with keras.name_scope("backbone"):
        network, cuts, preprocessing = _network(name, (*input_size, 3))
        if normalization == "group":
            network = with_group_normalization(network)
    if weights is not None:
        load_backbone_weights(network, name, weights)
    stages = tuple(end for end in _STAGE_ENDS[name] if end in {cut for cut, _ in cuts})
    taps = (_SSD_TAPS if for_ssd else _PYRAMID_TAPS)[name][1 if without_finest else 0 :]
    return Backbone(
        split(network, cuts),
        taps,
        preprocessing=preprocessing,
        rematerialise=rematerialise,
        stage_ends=stages,
    )


def _network(name: str, shape: tuple[int, int, int]) -> tuple[keras.Model, tuple[tuple[str, str], ...], str]:
    if name == "mobilenet_v2":
        network = keras.applications.MobileNetV2(input_shape=shape, include_top=False, weights=None)
        return network, MOBILENET_V2_CUTS, "minus-one-to-one"
    if name == "resnet50":
        network = keras.applications.ResNet50(input_shape=shape, include_top=False, weights=None)
        return network, _RESNET50, "caffe"
    if name == "resnext50":
        return resnext50(shape), _RESNET50, "caffe"
    return vgg16_reduced(shape), _VGG16, "caffe"


def vgg16_reduced(shape: tuple[int, int, int]) -> keras.Model:
    """VGG16 as SSD uses it (Liu et al. 2016, section 3): pools that round up, a fifth pool of stride 1, and
    the first two dense layers as convolutions, the first of them dilated by 6. Layers are named as in Keras."""
    x = images = keras.Input(shape)
    for block, (count, channels) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), start=1):
        for index in range(1, count + 1):
            x = _conv(x, channels, 3, f"block{block}_conv{index}")
        strides = 2 if block < 5 else 1
        x = layers.MaxPooling2D(2 if block < 5 else 3, strides, padding="same", name=f"block{block}_pool")(x)
    x = layers.Conv2D(1024, 3, padding="same", dilation_rate=6, activation=relu, name="fc6")(x)
    x = layers.Conv2D(1024, 1, name="fc7")(x)
    return keras.Model(images, layers.ReLU(name="fc7_relu")(x))


def _conv(x: Tensor, channels: int, kernel: int, name: str) -> Tensor:
    return layers.Conv2D(channels, kernel, padding="same", activation=relu, name=name)(x)


def group_normalization(channels: int, name: str) -> keras.layers.Layer:
    """Wu & He 2018: 32 groups, or as many of 16, 8, 4 … as divide the channels."""
    return layers.GroupNormalization(_groups(channels), epsilon=1e-5, name=name)


def _groups(channels: int) -> int:
    return next(count for count in (32, 16, 8, 4, 2, 1) if channels % count == 0)


class _InPlaceOfBatch(layers.GroupNormalization):
    """Takes the `mask` that a batch normalisation was called with."""

    def call(self, inputs: Tensor, mask: Tensor = None) -> Tensor:
        return super().call(inputs)


def with_group_normalization(network: keras.Model) -> keras.Model:
    """The same network with each batch normalisation replaced: for training from fresh weights, where
    there are no statistics to freeze."""

    def replaced(layer: keras.layers.Layer) -> keras.layers.Layer:
        if isinstance(layer, layers.BatchNormalization):
            return _InPlaceOfBatch(_groups(layer.gamma.shape[0]), epsilon=1e-5, name=layer.name)
        return layer.__class__.from_config(layer.get_config())

    return keras.models.clone_model(network, clone_function=replaced)
