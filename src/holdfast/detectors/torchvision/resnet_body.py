"""ResNet-50 as torchvision has it (He et al. 2016; the stride in the 3 x 3 convolution), named as its state dict."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers

from holdfast.detectors.torchvision.named_layers import Normalisation, normalised

Tensor = Any

STAGES = ((1, 3, 64, 1), (2, 4, 128, 2), (3, 6, 256, 2), (4, 3, 512, 2))  # number, blocks, width, stride
#: (block, its last layer), as `blocks.split` cuts.
CUTS = (
    ("stem", "backbone.body.maxpool"),
    *(
        (f"layer{stage}.{index}", f"backbone.body.layer{stage}.{index}-out")
        for stage, count, _, _ in STAGES
        for index in range(count)
    ),
)
STAGE_ENDS = ("stem", "layer1.2", "layer2.3", "layer3.5", "layer4.2")


def resnet50_body(shape: tuple[int, int, int], norm: Normalisation) -> keras.Model:
    images = keras.Input(shape)
    x = normalised(images, 64, 7, 2, ("backbone.body.conv1", "backbone.body.bn1"), norm, activation="relu")
    x = layers.ZeroPadding2D(1, name="backbone.body.maxpool-pad")(x)
    x = layers.MaxPooling2D(3, 2, name="backbone.body.maxpool")(x)
    for stage, count, width, stride in STAGES:
        for index in range(count):
            name = f"backbone.body.layer{stage}.{index}"
            x = _bottleneck(x, width, stride if index == 0 else 1, name, norm, widens=index == 0)
    return keras.Model(images, x, name="resnet50")


def _bottleneck(
    x: Tensor, width: int, stride: int, name: str, norm: Normalisation, *, widens: bool
) -> Tensor:
    shortcut = x
    if widens:
        shortcut = normalised(x, 4 * width, 1, stride, (f"{name}.downsample.0", f"{name}.downsample.1"), norm)
    x = normalised(x, width, 1, 1, (f"{name}.conv1", f"{name}.bn1"), norm, activation="relu")
    x = normalised(x, width, 3, stride, (f"{name}.conv2", f"{name}.bn2"), norm, activation="relu")
    x = normalised(x, 4 * width, 1, 1, (f"{name}.conv3", f"{name}.bn3"), norm)
    x = layers.Add(name=f"{name}-add")([shortcut, x])
    return layers.Activation("relu", name=f"{name}-out")(x)
