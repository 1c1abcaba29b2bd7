"""VGG16 and the levels behind it as torchvision's SSD300 has them: the third pool rounds up, the fourth begins the
second part, and fc6 and fc7 are convolutions. Layers are named as in its state dict."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers

from holdfast.detectors.fusion.relu_from_output import relu
from holdfast.detectors.torchvision.named_layers import convolution_layer

Tensor = Any

#: (module numbers of the convolutions, channels) of each block up to conv4_3.
_FEATURES = (((0, 2), 64), ((5, 7), 128), ((10, 12, 14), 256), ((17, 19, 21), 512))
#: (inside, out, stride, padded) of the levels behind fc7.
_EXTRA = ((256, 512, 2), (128, 256, 2), (128, 256, 1), (128, 256, 1))

CUTS = (
    ("features_0", "backbone.features.4"),
    ("features_5", "backbone.features.9"),
    ("features_10", "backbone.features.16"),
    ("features_17", "backbone.features.21"),
    ("extra_0", "backbone.extra.0.7.3"),
    *((f"extra_{index}", f"backbone.extra.{index}.2") for index in range(1, 5)),
)
TAPS = ("features_17", *(f"extra_{index}" for index in range(5)))
STAGE_ENDS = ("features_0", "features_5", "features_10", "features_17", "extra_0")


def vgg16_body(shape: tuple[int, int, int]) -> keras.Model:
    x = images = keras.Input(shape)
    for block, (numbers, channels) in enumerate(_FEATURES):
        for number in numbers:
            x = _conv(x, channels, 3, f"backbone.features.{number}")
        if block < 3:
            rounding = "same" if block == 2 else "valid"
            x = layers.MaxPooling2D(2, padding=rounding, name=f"backbone.features.{numbers[-1] + 2}")(x)
    x = layers.MaxPooling2D(2, name="backbone.extra.0.0")(x)
    for number in (1, 3, 5):
        x = _conv(x, 512, 3, f"backbone.extra.0.{number}")
    x = layers.MaxPooling2D(3, 1, padding="same", name="backbone.extra.0.7.0")(x)
    x = layers.Conv2D(1024, 3, padding="same", dilation_rate=6, activation=relu, name="backbone.extra.0.7.1")(
        x
    )
    x = _conv(x, 1024, 1, "backbone.extra.0.7.3")
    for index, (inside, channels, stride) in enumerate(_EXTRA, start=1):
        x = _conv(x, inside, 1, f"backbone.extra.{index}.0")
        name = f"backbone.extra.{index}.2"
        x = (
            convolution_layer(x, channels, 3, 2, name, bias=True, activation=relu)
            if stride == 2
            else layers.Conv2D(channels, 3, activation=relu, name=name)(x)
        )
    return keras.Model(images, x, name="vgg16")


def _conv(x: Tensor, channels: int, kernel: int, name: str) -> Tensor:
    return convolution_layer(x, channels, kernel, 1, name, bias=True, activation=relu)
