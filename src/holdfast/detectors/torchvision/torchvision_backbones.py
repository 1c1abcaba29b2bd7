"""The backbones of torchvision's pyramids: where they are cut, and what feeds the pyramid."""

from __future__ import annotations

import keras

from holdfast.detectors.backbones.blocks import Backbone, split
from holdfast.detectors.spec import DetectorSpec
from holdfast.detectors.torchvision import mobilenet_v3_body, resnet_body
from holdfast.detectors.torchvision.named_layers import Normalisation

EPSILON = 1e-5  # of every batch normalisation of the pyramids' backbones


def resnet_backbone(spec: DetectorSpec, *, frozen: bool, first_tap: int) -> Backbone:
    """Features of stride 4, 8, 16 and 32, from the `first_tap` on."""
    with keras.name_scope("backbone"):
        network = resnet_body.resnet50_body((*spec.input, 3), Normalisation(EPSILON, frozen=frozen))
    return Backbone(
        split(network, resnet_body.CUTS), resnet_body.STAGE_ENDS[1 + first_tap :],
        preprocessing="mean-and-deviation", rematerialise=spec.rematerialise, stage_ends=resnet_body.STAGE_ENDS,
    )  # fmt: skip


def mobilenet_backbone(spec: DetectorSpec) -> Backbone:
    """Two features, both of stride 32."""
    with keras.name_scope("backbone"):
        network = mobilenet_v3_body.mobilenet_v3_large((*spec.input, 3), Normalisation(EPSILON, frozen=True))
    return Backbone(
        split(network, mobilenet_v3_body.WHOLE_CUTS), mobilenet_v3_body.WHOLE_TAPS,
        preprocessing="mean-and-deviation", rematerialise=spec.rematerialise,
        stage_ends=mobilenet_v3_body.WHOLE_STAGES,
    )  # fmt: skip
