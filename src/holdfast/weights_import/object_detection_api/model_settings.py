"""The model of a pipeline.config as a network of Holdfast in the API's arithmetic, or the reason why it is none."""

from __future__ import annotations

import re

from holdfast.weights_import.object_detection_api.config_sections import Section
from holdfast.weights_import.object_detection_api.network_parts import ModelSettings, NotOurs
from holdfast.weights_import.object_detection_api.one_stage_settings import one_stage
from holdfast.weights_import.object_detection_api.two_stage_settings import two_stages

_FAMILIES = (
    ("ssd_mobilenet_v2_keras", "ssd", "mobilenet_v2"),
    ("ssd_mobilenet_v2_fpn_keras", "retinanet", "mobilenet_v2"),
    ("ssd_resnet50_v1_fpn_keras", "retinanet", "resnet50"),
    ("ssd_resnet101_v1_fpn_keras", "retinanet", "resnet101"),
    ("ssd_resnet152_v1_fpn_keras", "retinanet", "resnet152"),
    ("faster_rcnn_resnet50_keras", "faster-rcnn", "resnet50"),
    ("faster_rcnn_resnet101_keras", "faster-rcnn", "resnet101"),
    ("faster_rcnn_resnet152_keras", "faster-rcnn", "resnet152"),
)
_NOT_OURS = (
    (r"efficientnet", "EfficientDet's backbone and its pyramid of weighted sums are no part of Holdfast"),
    (r"_bifpn_", "EfficientDet's pyramid of weighted sums is no part of Holdfast"),
    (r"mobilenet_v1", "MobileNetV1 is no backbone of Holdfast"),
    (r"mobilenet_v3|mobiledet|edgetpu|spaghettinet|mnasfpn", "this mobile backbone is no part of Holdfast"),
    (
        r"mobilenet_v2_fpn$",
        "it is the TF1 form, whose checkpoints have no objects; the TF2 form ends in _keras",
    ),
    (
        r"ssd_mobilenet_v2$",
        "it is the TF1 form, whose checkpoints have no objects; the TF2 form ends in _keras",
    ),
    (r"resnet\d+_fpn", "Faster R-CNN on a feature pyramid is built in another way than Holdfast's"),
    (
        r"resnet\d+(_v1_fpn)?$",
        "it is the TF1 form, whose checkpoints have no objects; the TF2 form ends in _keras",
    ),
    (r"inception|nas|pnas", "Inception and NAS are no backbones of Holdfast"),
)


def model_settings(model: Section) -> ModelSettings:
    """Raises `NotOurs` where the network is not one of Holdfast's."""
    kinds = [name for name in ("ssd", "faster_rcnn") if model.has(name)]
    if not kinds:
        other = next((one.name for one in model.leaves()), "")
        reason = (
            "CenterNet is no architecture of Holdfast" if other == "center_net" else f"{other or 'no'} model"
        )
        raise NotOurs(reason, model.line_of(other))
    section = model.section(kinds[0])
    extractor = section.section("feature_extractor")
    detector, backbone = _family(extractor)
    return one_stage(section, detector, backbone) if kinds[0] == "ssd" else two_stages(section, backbone)


def _family(extractor: Section) -> tuple[str, str]:
    kind, line = extractor.text("type"), extractor.line_of("type")
    for name, detector, backbone in _FAMILIES:
        if kind == name:
            return detector, backbone
    for pattern, reason in _NOT_OURS:
        if re.search(pattern, kind):
            raise NotOurs(f"{kind}: {reason}", line)
    raise NotOurs(f"{kind or 'no feature extractor'}: no such network is known", line)
