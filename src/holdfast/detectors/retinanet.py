"""RetinaNet (Lin et al. 2017): focal loss over every anchor of a feature pyramid."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from holdfast.detectors.anchors import grid as anchor_boxes
from holdfast.detectors.anchors.anchor_defaults import shapes_of
from holdfast.detectors.anchors.matcher import match
from holdfast.detectors.backbones.backbone import build_backbone
from holdfast.detectors.batch import Batch, box_targets, count, sum_per_image
from holdfast.detectors.fpn import FeaturePyramid
from holdfast.detectors.heads import PyramidHead
from holdfast.detectors.ops.boxes import UNSCALED, clip, decode
from holdfast.detectors.ops.losses import box_loss, focal_sum
from holdfast.detectors.ops.nms import Detections, per_class_nms
from holdfast.detectors.spec import DetectorSpec

Tensor = Any

CHANNELS = {"resnet50": 256, "resnext50": 256, "mobilenet_v2": 128}


class RetinaNet(keras.Model):
    """`call` gives class logits, one sigmoid a class, and box offsets, for all anchors."""

    def __init__(self, spec: DetectorSpec, weights: str | None = None) -> None:
        super().__init__(name="retinanet")
        self.spec = spec
        self.classes = len(spec.classes)
        self.backbone = build_backbone(
            spec.backbone, spec.input, for_ssd=False, weights=weights,
            normalization=spec.normalization, rematerialise=spec.rematerialise, without_finest=True,
        )  # fmt: skip
        channels = CHANNELS[spec.backbone]
        light = spec.backbone == "mobilenet_v2"
        self.pyramid = FeaturePyramid(3, channels, extra="convolutions", normalise=light)
        maps = self.pyramid(self.backbone(keras.Input((*spec.input, 3), dtype="uint8")))
        shapes = spec.anchors or shapes_of("retinanet", spec.backbone, spec.input)
        self.anchors = anchor_boxes.all_levels([(m.shape[1], m.shape[2]) for m in maps], spec.input, shapes)
        self.head = PyramidHead(
            len(shapes[0]), self.classes, channels, light=light, rematerialise=spec.rematerialise
        )
        self.head(maps)
        self.built = True

    def call(self, images: Tensor) -> tuple[Tensor, Tensor]:
        return self.head(self.pyramid(self.backbone(images)))

    def losses_of(self, batch: Batch) -> dict[str, Tensor]:
        """Section 4: both sums divided by the anchors assigned to a box of the same image, or by 1."""
        levels, offsets = self.head.apart(self.pyramid(self.backbone(batch["images"])))
        matches = match(
            self.anchors, batch["boxes"], batch["real"], batch["crowd"],
            positive_from=0.5, negative_below=0.4, force=True,
        )  # fmt: skip
        boxes, classes = box_targets(batch, matches.box_index)
        label = ops.where(matches.positive, classes, -1)
        counts = ops.logical_or(matches.positive, matches.negative)
        classification, first = 0.0, 0
        for (
            outputs,
            bias,
        ) in levels:  # apart: joined, the logits and their gradient would be written once more
            last = first + outputs.shape[1] * outputs.shape[2] // self.classes
            classification += focal_sum(
                outputs, bias, label[:, first:last], counts[:, first:last], self.classes
            )
            first = last
        located = box_loss(
            ops.concatenate(offsets, axis=1), boxes, self.anchors, UNSCALED,
            kind=self.spec.box_loss, beta=1.0 / 9.0,
        )  # fmt: skip
        share = ops.maximum(count(matches.positive), 1.0)
        return {
            "classification": classification / share,
            "localization": sum_per_image(located, matches.positive) / share,
        }

    def detect(self, images: Tensor) -> Detections:
        logits, offsets = self(images)
        boxes = clip(decode(offsets, self.anchors), *self.spec.input)
        return per_class_nms(boxes, ops.sigmoid(logits), score_above=0.05, overlap_above=0.5)
