"""Detectors in another library's arithmetic: which networks each variant has, and which module builds them.

`build(spec)` gives a `Detector` whose backbone's variables lie under "backbone/".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from holdfast.pipeline.feed import ResizeMode


@dataclass(frozen=True, slots=True)
class Variant:
    """`networks` are the backbones of each detector, `module` has `build(spec)`."""

    networks: dict[str, tuple[str, ...]]
    module: str
    resizing: dict[str, ResizeMode]
    #: Of a backbone, where pretrained weights are trained further.
    frozen_stages: dict[tuple[str, str], int] = field(default_factory=dict)


_TORCHVISION = "holdfast.detectors.torchvision.torchvision_detectors"
_SQUARE: dict[str, ResizeMode] = {"ssd": "stretch", "retinanet": "letterbox", "faster-rcnn": "letterbox"}

#: The value of `DetectorSpec.variant` -> what it is. "" are Holdfast's own detectors.
VARIANTS: dict[str, Variant] = {
    "torchvision": Variant(
        {
            "ssd": ("mobilenet_v3_large", "vgg16"),
            "retinanet": ("resnet50",),
            "faster-rcnn": ("resnet50", "mobilenet_v3_large"),
        },
        _TORCHVISION,
        _SQUARE,
        {
            ("ssd", "vgg16"): 1,
            ("retinanet", "resnet50"): 2,
            ("faster-rcnn", "resnet50"): 2,
            ("faster-rcnn", "mobilenet_v3_large"): 3,
        },
    ),
    "torchvision-v2": Variant(
        {"retinanet": ("resnet50",), "faster-rcnn": ("resnet50",)},
        _TORCHVISION,
        _SQUARE,
        {("retinanet", "resnet50"): 2, ("faster-rcnn", "resnet50"): 2},
    ),
    "object-detection-api": Variant(
        {
            "ssd": ("mobilenet_v2",),
            "retinanet": ("resnet50", "mobilenet_v2", "resnet101", "resnet152"),
            "faster-rcnn": ("resnet50", "resnet101", "resnet152"),
        },
        "holdfast.detectors.object_detection_api.api_detectors",
        {"ssd": "stretch", "retinanet": "stretch", "faster-rcnn": "letterbox"},
        {},
    ),
}


def frozen_stages(spec: Any) -> int:
    """How many stages of the backbone the variant's own library does not train further."""
    return VARIANTS[spec.variant].frozen_stages.get((spec.detector, spec.backbone), 0) if spec.variant else 0


def build_variant(spec: Any) -> Any:
    """A fresh detector of the variant that the spec names."""
    return import_module(VARIANTS[spec.variant].module).build(spec)
