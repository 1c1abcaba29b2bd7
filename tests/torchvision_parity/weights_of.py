"""The spec of each architecture, and the names and shapes of its tensors, without torch."""

from __future__ import annotations

from typing import Any

from holdfast.detectors.spec import DetectorSpec
from holdfast.detectors.torchvision.named_layers import torch_name
from holdfast.weights_import.torchvision.coco_classes import COUNT, coco_names
from holdfast.weights_import.torchvision.torchvision_model import shape_in_torch


def spec_of(name: str, side: int) -> DetectorSpec:
    detector = (
        "retinanet" if name.startswith("retinanet") else "ssd" if name.startswith("ssd") else "faster-rcnn"
    )
    backbone = "mobilenet_v3_large" if "mobilenet" in name else "vgg16" if "vgg" in name else "resnet50"
    variant = "torchvision-v2" if name.endswith("_v2") else "torchvision"
    classes = coco_names() if detector == "retinanet" else coco_names()[1:]
    return DetectorSpec(detector, backbone, classes, (side, side), variant=variant)


def shapes_of(detector: Any) -> dict[str, tuple[int, ...]]:
    return {torch_name(one.path): shape_in_torch(one, detector.spec, COUNT) for one in detector.variables}
