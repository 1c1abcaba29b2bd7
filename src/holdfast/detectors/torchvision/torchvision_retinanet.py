"""RetinaNet on ResNet-50 as torchvision computes it, in both versions."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from holdfast.detectors.anchors.matcher import match
from holdfast.detectors.batch import Batch, box_targets, count, sum_per_image
from holdfast.detectors.ops.boxes import UNSCALED, encode
from holdfast.detectors.ops.losses import box_loss, focal
from holdfast.detectors.ops.nms import Detections
from holdfast.detectors.spec import DetectorSpec
from holdfast.detectors.torchvision import torchvision_anchors
from holdfast.detectors.torchvision.torchvision_backbones import resnet_backbone
from holdfast.detectors.torchvision.torchvision_detections import best_of_each_level, image_by_image
from holdfast.detectors.torchvision.torchvision_heads import TorchvisionPyramid, retinanet_towers

Tensor = Any


class TorchvisionRetinaNet(keras.Model):
    """`call` gives class logits, one sigmoid a class, and offsets. Version 2 has normalised towers, coarser levels
    from the backbone's last features, and generalised IoU as its box loss, where version 1 has absolute differences."""

    def __init__(self, spec: DetectorSpec) -> None:
        super().__init__(name="retinanet")
        self.spec = spec
        self.classes = len(spec.classes)
        self.newer = spec.variant == "torchvision-v2"
        self.backbone = resnet_backbone(spec, frozen=not self.newer, first_tap=1)
        self.pyramid = TorchvisionPyramid(3, "c5" if self.newer else "p5")
        maps = self.pyramid(self.backbone(keras.Input((*spec.input, 3), dtype="uint8")))
        shapes = spec.anchors or torchvision_anchors.pyramid_shapes(torchvision_anchors.retinanet_sizes())
        sizes = [(level.shape[1], level.shape[2]) for level in maps]
        self.level_anchors = torchvision_anchors.pyramid_anchors(sizes, spec.input, shapes)
        self.anchors = np.concatenate(self.level_anchors)
        self.class_tower, self.box_tower = retinanet_towers(
            len(shapes[0]), self.classes, norm="group" if self.newer else ""
        )
        self._by_level(maps)
        self.built = True

    def call(self, images: Tensor) -> tuple[Tensor, Tensor]:
        levels = self._by_level(self.pyramid(self.backbone(images)))
        return (
            ops.concatenate([logits for logits, _ in levels], axis=1),
            ops.concatenate([offsets for _, offsets in levels], axis=1),
        )

    def losses_of(self, batch: Batch) -> dict[str, Tensor]:
        """Both sums divided by the anchors assigned to a box of the same image, or by 1."""
        logits, offsets = self(batch["images"])
        matches = match(
            self.anchors, batch["boxes"], batch["real"], batch["crowd"],
            positive_from=0.5, negative_below=0.4, force=True, with_ties=True,
        )  # fmt: skip
        boxes, classes = box_targets(batch, matches.box_index)
        label = ops.where(matches.positive, classes, -1)
        each = ops.sum(focal(logits, ops.one_hot(label, self.classes, dtype="float32")), axis=-1)
        counted = ops.logical_or(matches.positive, matches.negative)
        share = ops.maximum(count(matches.positive), 1.0)
        return {
            "classification": sum_per_image(each, counted) / share,
            "localization": sum_per_image(self._box_loss(offsets, boxes), matches.positive) / share,
        }

    def detect(self, images: Tensor) -> Detections:
        levels = self._by_level(self.pyramid(self.backbone(images)))
        flat = [part for level in levels for part in level]
        return image_by_image(self._detect_one, flat)

    def _detect_one(self, flat: list[Tensor]) -> Detections:
        return best_of_each_level(
            list(zip(flat[::2], flat[1::2], strict=True)), list(self.level_anchors), self.spec.input,
            score_above=0.05, overlap_above=0.5, candidates=1000, size=300,
        )  # fmt: skip

    def _by_level(self, maps: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
        return [(self.class_tower(level), self.box_tower(level)) for level in maps]

    def _box_loss(self, offsets: Tensor, boxes: Tensor) -> Tensor:
        if self.newer or self.spec.box_loss == "giou":
            return box_loss(offsets, boxes, self.anchors, UNSCALED, kind="giou", beta=1.0)
        return ops.sum(ops.abs(offsets - encode(boxes, self.anchors)), axis=-1)
