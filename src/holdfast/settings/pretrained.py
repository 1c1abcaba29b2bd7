"""The pretrained detectors that `model.weights` can name: torchvision's public files. Standard library alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ADDRESS = "https://download.pytorch.org/models/"


@dataclass(frozen=True, slots=True)
class PretrainedFile:
    """A file's name ends in the first digits of its SHA-256. `input` is what a recipe takes if it names none."""

    weights: str
    detector: str
    backbone: str
    variant: str
    input: int
    file: str

    @property
    def digest(self) -> str:
        return self.file.removesuffix(".pth").rpartition("-")[2]


_V1, _V2 = "torchvision", "torchvision-v2"
#: Of each name the first is the default.
PRETRAINED: tuple[PretrainedFile, ...] = (
    PretrainedFile(
        "coco", "ssd", "mobilenet_v3_large", _V1, 320, "ssdlite320_mobilenet_v3_large_coco-a79551df.pth"
    ),
    PretrainedFile("coco", "ssd", "vgg16", _V1, 300, "ssd300_vgg16_coco-b556d3b4.pth"),
    PretrainedFile("coco", "retinanet", "resnet50", _V1, 640, "retinanet_resnet50_fpn_coco-eeacb38b.pth"),
    PretrainedFile("coco", "faster-rcnn", "resnet50", _V1, 640, "fasterrcnn_resnet50_fpn_coco-258fb6c6.pth"),
    PretrainedFile(
        "coco", "faster-rcnn", "mobilenet_v3_large", _V1, 800, "fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7.pth"
    ),
    PretrainedFile(
        "coco-v2", "faster-rcnn", "resnet50", _V2, 640, "fasterrcnn_resnet50_fpn_v2_coco-dd69338a.pth"
    ),
    PretrainedFile(
        "coco-v2", "retinanet", "resnet50", _V2, 640, "retinanet_resnet50_fpn_v2_coco-5905b1c5.pth"
    ),
    PretrainedFile(
        "coco-320", "faster-rcnn", "mobilenet_v3_large", _V1, 320,
        "fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9.pth",
    ),
)  # fmt: skip
NAMES: tuple[str, ...] = tuple(dict.fromkeys(one.weights for one in PRETRAINED))


#: What a training that starts from a detector does unless the recipe says otherwise: the average of few steps' weights
#: is better than the last ones.
TRAINING = {"train.ema": 0.99}


def settings_of(weights: str, detector: object, backbone: object) -> dict[str, Any] | None:
    """What a pretrained name brings along: its architecture, its input, how to train from it. None for others."""
    given = (one if isinstance(one, str) else None for one in (detector, backbone))
    found = find_pretrained(weights, *given)
    return None if found is None else settings_for(found.detector, found.backbone, found.input)


def settings_for(detector: str, backbone: str, side: int) -> dict[str, Any]:
    return {"model.detector": detector, "model.backbone": backbone, "model.input": side, **TRAINING}


def find_pretrained(
    weights: str, detector: str | None = None, backbone: str | None = None
) -> PretrainedFile | None:
    """The first file of that name for the detector and the backbone, as far as they are given."""
    fitting = (
        one
        for one in PRETRAINED
        if one.weights == weights and detector in (None, one.detector) and backbone in (None, one.backbone)
    )
    return next(fitting, None)
