"""Which detector of torchvision a state dict is of, by the names and shapes of its tensors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.weights_import.torchvision.coco_classes import COUNT, coco_names

Shapes = Mapping[str, tuple[int, ...]]

#: Tensors that a network does not need: counters of training, and anchors that early versions stored.
NOT_WEIGHTS = re.compile(r"num_batches_tracked$|anchor_generator")


@dataclass(frozen=True, slots=True)
class Architecture:
    """`outputs` counts the classes of the file's heads, the background among them."""

    name: str
    detector: str
    backbone: str
    variant: str
    input: int
    outputs: int

    @property
    def classes(self) -> tuple[str, ...]:
        """COCO's names where the number fits, else numbers. RetinaNet has an output for the background as well."""
        names = coco_names() if self.outputs == COUNT else self._numbered
        return names if self.detector == "retinanet" else names[1:]

    @property
    def _numbered(self) -> tuple[str, ...]:
        return ("background", *(f"class {number}" for number in range(1, self.outputs)))


def recognise(shapes: Shapes) -> Architecture | None:
    """None where no detector has such tensors."""
    if any("mask" in name or "keypoint" in name for name in shapes):
        return None

    def length(name: str) -> int:
        shape = shapes.get(name, ())
        return shape[0] if len(shape) == 1 else 0

    if "backbone.scale_weight" in shapes:
        outputs = length("head.classification_head.module_list.0.bias") // 4
        return Architecture("ssd300_vgg16", "ssd", "vgg16", "torchvision", 300, outputs)
    if (
        "backbone.features.0.0.0.weight" in shapes
        and "head.classification_head.module_list.0.1.bias" in shapes
    ):
        outputs = length("head.classification_head.module_list.0.1.bias") // 6
        return Architecture(
            "ssdlite320_mobilenet_v3_large", "ssd", "mobilenet_v3_large", "torchvision", 320, outputs
        )
    if "head.classification_head.cls_logits.bias" in shapes and "backbone.body.conv1.weight" in shapes:
        newer = "head.classification_head.conv.0.1.weight" in shapes
        outputs = length("head.classification_head.cls_logits.bias") // 9
        return _pyramid("retinanet", "resnet50", newer, outputs)
    if "roi_heads.box_predictor.cls_score.bias" in shapes:
        outputs = length("roi_heads.box_predictor.cls_score.bias")
        if "backbone.body.conv1.weight" in shapes:
            return _pyramid("faster-rcnn", "resnet50", "roi_heads.box_head.0.0.weight" in shapes, outputs)
        if "backbone.body.0.0.weight" in shapes:
            return Architecture(
                "fasterrcnn_mobilenet_v3_large_fpn",
                "faster-rcnn",
                "mobilenet_v3_large",
                "torchvision",
                320,
                outputs,
            )
    return None


def _pyramid(detector: str, backbone: str, newer: bool, outputs: int) -> Architecture:
    name = f"{detector.replace('-', '')}_{backbone}_fpn{'_v2' if newer else ''}"
    return Architecture(name, detector, backbone, "torchvision-v2" if newer else "torchvision", 640, outputs)


def current_name(name: str) -> str:
    """The name that torchvision 0.13 and later give a tensor that an earlier version wrote."""
    name = re.sub(r"(fpn\.(?:inner|layer)_blocks\.\d)\.(weight|bias)$", r"\1.0.\2", name)
    name = re.sub(r"^rpn\.head\.conv\.(weight|bias)$", r"rpn.head.conv.0.0.\1", name)
    return re.sub(
        r"^(head\.\w+_head\.conv)\.(\d)\.(weight|bias)$",
        lambda found: f"{found[1]}.{int(found[2]) // 2}.0.{found[3]}",
        name,
    )
