"""SSD300 on VGG16 and SSDLite on MobileNetV3-Large as torchvision computes them."""

# mypy: allow-subclassing-any

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from holdfast.detectors.anchors.matcher import match
from holdfast.detectors.backbones.blocks import Backbone, split
from holdfast.detectors.batch import Batch, box_targets, count, sum_per_image
from holdfast.detectors.ops.boxes import SCALED, clip, decode
from holdfast.detectors.ops.losses import box_loss, hardest_negatives, softmax_cross_entropy
from holdfast.detectors.ops.nms import Detections
from holdfast.detectors.spec import DetectorSpec
from holdfast.detectors.ssd import L2NormScale
from holdfast.detectors.torchvision import mobilenet_v3_body, torchvision_anchors, vgg_body
from holdfast.detectors.torchvision.named_layers import Normalisation
from holdfast.detectors.torchvision.torchvision_detections import best_of_each_class, image_by_image
from holdfast.detectors.torchvision.torchvision_heads import ssd_heads

Tensor = Any


@dataclass(frozen=True, slots=True)
class SSDThresholds:
    score: float
    overlap: float
    candidates: int  # of each class
    detections: int


SSD300 = SSDThresholds(0.01, 0.45, 400, 200)
SSDLITE = SSDThresholds(0.001, 0.55, 300, 300)


class TorchvisionSSD(keras.Model):
    """`call` gives logits, background last, and offsets. Further levels belong to the backbone, as in torchvision."""

    def __init__(self, spec: DetectorSpec) -> None:
        super().__init__(name="ssd")
        self.spec = spec
        self.classes = len(spec.classes)
        lite = spec.backbone == "mobilenet_v3_large"
        self.thresholds = SSDLITE if lite else SSD300
        norm = Normalisation(1e-3, frozen=False) if lite else None
        self.backbone = _lite_backbone(spec, norm) if norm is not None else _vgg_backbone(spec)
        self.rescale = None if lite else L2NormScale(20.0, name="backbone.scale_weight")
        features = self._features(keras.Input((*spec.input, 3), dtype="uint8"))
        shapes = spec.anchors or torchvision_anchors.ssd_shapes(spec.backbone, spec.input)
        sizes = [(level.shape[1], level.shape[2]) for level in features]
        self.anchors = torchvision_anchors.ssd_anchors(spec.backbone, sizes, spec.input, shapes)
        self.class_heads, self.box_heads = ssd_heads([len(level) for level in shapes], self.classes, norm)
        self._predict(features)
        self.built = True

    def call(self, images: Tensor) -> tuple[Tensor, Tensor]:
        return self._predict(self._features(images))

    def losses_of(self, batch: Batch) -> dict[str, Tensor]:
        """torchvision's of a batch of one image: both sums divided by the image's matched anchors, or by 1."""
        logits, offsets = self(batch["images"])
        matches = match(
            self.anchors, batch["boxes"], batch["real"], batch["crowd"],
            positive_from=0.5, negative_below=0.5, force=True,
        )  # fmt: skip
        boxes, classes = box_targets(batch, matches.box_index)
        labels = ops.where(matches.positive, classes, self.classes)
        class_loss = softmax_cross_entropy(logits, labels)
        positives = count(matches.positive)
        hard = hardest_negatives(ops.stop_gradient(class_loss), matches.negative, positives)
        located = box_loss(offsets, boxes, self.anchors, SCALED, kind=self.spec.box_loss, beta=1.0)
        share = ops.maximum(positives, 1.0)
        return {
            "classification": sum_per_image(class_loss, ops.logical_or(matches.positive, hard)) / share,
            "localization": sum_per_image(located, matches.positive) / share,
        }

    def detect(self, images: Tensor) -> Detections:
        logits, offsets = self(images)
        boxes = clip(decode(offsets, self.anchors, SCALED), *self.spec.input)
        scores = ops.softmax(logits)[..., : self.classes]
        limits = self.thresholds
        return image_by_image(
            lambda parts: best_of_each_class(
                *parts, score_above=limits.score, overlap_above=limits.overlap,
                candidates=limits.candidates, size=limits.detections,
            ),
            [boxes, scores],
        )  # fmt: skip

    def _features(self, images: Tensor) -> list[Tensor]:
        features = self.backbone(images)
        return features if self.rescale is None else [self.rescale(features[0]), *features[1:]]

    def _predict(self, features: list[Tensor]) -> tuple[Tensor, Tensor]:
        logits = [head(level) for head, level in zip(self.class_heads, features, strict=True)]
        offsets = [head(level) for head, level in zip(self.box_heads, features, strict=True)]
        return ops.concatenate(logits, axis=1), ops.concatenate(offsets, axis=1)


def _lite_backbone(spec: DetectorSpec, norm: Normalisation) -> Backbone:
    with keras.name_scope("backbone"):
        network = mobilenet_v3_body.mobilenet_v3_large_lite((*spec.input, 3), norm)
    return Backbone(
        split(network, mobilenet_v3_body.LITE_CUTS), mobilenet_v3_body.LITE_TAPS,
        preprocessing="minus-one-to-one", rematerialise=spec.rematerialise,
        stage_ends=mobilenet_v3_body.LITE_STAGES,
    )  # fmt: skip


def _vgg_backbone(spec: DetectorSpec) -> Backbone:
    with keras.name_scope("backbone"):
        network = vgg_body.vgg16_body((*spec.input, 3))
    return Backbone(
        split(network, vgg_body.CUTS), vgg_body.TAPS, preprocessing="mean",
        rematerialise=spec.rematerialise, stage_ends=vgg_body.STAGE_ENDS,
    )  # fmt: skip
