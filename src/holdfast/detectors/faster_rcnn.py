"""Faster R-CNN (Ren et al. 2015) on a feature pyramid (Lin et al. 2017), every number of regions fixed."""

# mypy: allow-subclassing-any

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from holdfast.detectors.anchors import grid as anchor_boxes
from holdfast.detectors.anchors.anchor_defaults import shapes_of
from holdfast.detectors.anchors.balanced_sampler import sample
from holdfast.detectors.anchors.matcher import match
from holdfast.detectors.backbones.backbone import build_backbone
from holdfast.detectors.batch import Batch, box_targets, count, sum_per_image
from holdfast.detectors.fpn import FeaturePyramid
from holdfast.detectors.heads import CLASS_PRIOR, ProposalHead, RegionHead
from holdfast.detectors.ops.batched_gather import gather_rows
from holdfast.detectors.ops.boxes import SCALED, clip, decode, encode
from holdfast.detectors.ops.losses import (
    background_bias,
    binary_cross_entropy,
    smooth_l1,
    softmax_cross_entropy,
)
from holdfast.detectors.ops.nms import Detections, per_class_nms
from holdfast.detectors.ops.proposals import propose
from holdfast.detectors.ops.roi_align import level_of, roi_align
from holdfast.detectors.spec import DetectorSpec

Tensor = Any


@dataclass(frozen=True, slots=True)
class RegionCounts:
    """How many of everything. `regions` are sampled to train the second stage, `proposals` enter it."""

    channels: int
    head_width: int
    per_level: int
    proposals: int
    detect_proposals: int
    regions: int
    anchors: int = 256


_LARGE = RegionCounts(256, 1024, per_level=1000, proposals=1000, detect_proposals=1000, regions=512)
REGION_COUNTS = {
    "resnet50": _LARGE,
    "resnext50": _LARGE,
    "mobilenet_v2": RegionCounts(128, 512, per_level=500, proposals=500, detect_proposals=300, regions=128),
}


class FasterRCNN(keras.Model):
    """`call` gives, for the proposed regions: class logits, box offsets, the regions, and which are real."""

    def __init__(self, spec: DetectorSpec, weights: str | None = None) -> None:
        super().__init__(name="faster_rcnn")
        self.spec = spec
        self.classes = len(spec.classes)
        self.numbers = numbers = REGION_COUNTS[spec.backbone]
        self.backbone = build_backbone(
            spec.backbone, spec.input, for_ssd=False, weights=weights,
            normalization=spec.normalization, rematerialise=spec.rematerialise,
        )  # fmt: skip
        self.pyramid = FeaturePyramid(
            4, numbers.channels, extra="pool", normalise=spec.backbone == "mobilenet_v2"
        )
        maps = self.pyramid(self.backbone(keras.Input((*spec.input, 3), dtype="uint8")))
        shapes = spec.anchors or shapes_of("faster-rcnn", spec.backbone, spec.input)
        sizes = [(level.shape[1], level.shape[2]) for level in maps]
        self.level_anchors = tuple(
            anchor_boxes.grid(size, spec.input, level) for size, level in zip(sizes, shapes, strict=True)
        )
        self.strides = [(spec.input[0] / rows_, spec.input[1] / columns) for rows_, columns in sizes[:-1]]
        self.rpn = ProposalHead(len(shapes[0]), numbers.channels)
        self.rpn(maps)
        self.region_head = RegionHead(
            self.classes, numbers.head_width, background_bias(CLASS_PRIOR, self.classes)
        )
        self.region_head(keras.Input((7 * 7 * numbers.channels,)))
        self.built = True

    # -- the two stages -------------------------------------------------------------------------

    def call(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        maps = self.pyramid(self.backbone(images))
        objectness, offsets = self.rpn(maps)
        regions, real = self._propose(objectness, offsets, self.numbers.detect_proposals)
        logits, region_offsets = self._look_closer(maps, regions)
        return logits, region_offsets, regions, real

    def losses_of(self, batch: Batch) -> dict[str, Tensor]:
        maps = self.pyramid(self.backbone(batch["images"]))
        objectness, offsets = self.rpn(maps)
        regions, real = self._propose(objectness, offsets, self.numbers.proposals)
        first = self._first_stage_losses(
            batch, ops.concatenate(objectness, axis=1), ops.concatenate(offsets, axis=1)
        )
        return first | self._second_stage_losses(batch, maps, regions, real)

    def detect(self, images: Tensor) -> Detections:
        logits, offsets, regions, real = self(images)
        boxes = clip(decode(offsets, regions[:, :, None, :], SCALED), *self.spec.input)
        scores = ops.where(real[..., None], ops.softmax(logits)[..., : self.classes], 0.0)
        return per_class_nms(boxes, scores, score_above=0.05, overlap_above=0.5)

    # -- first stage ----------------------------------------------------------------------------

    def _propose(self, objectness: list[Tensor], offsets: list[Tensor], size: int) -> tuple[Tensor, Tensor]:
        regions, real = propose(
            [ops.stop_gradient(level) for level in objectness],
            [ops.stop_gradient(level) for level in offsets],
            list(self.level_anchors), self.spec.input, per_level=self.numbers.per_level, size=size,
        )  # fmt: skip
        return regions, real

    def _first_stage_losses(self, batch: Batch, objectness: Tensor, offsets: Tensor) -> dict[str, Tensor]:
        """256 anchors an image, at most half of them positive; both sums divided by their number."""
        anchors = np.concatenate(self.level_anchors)
        matches = match(
            anchors, batch["boxes"], batch["real"], batch["crowd"],
            positive_from=0.7, negative_below=0.3, force=True,
        )  # fmt: skip
        drawn = sample(
            matches.positive, matches.negative, seeds_of(batch), size=self.numbers.anchors, positive_share=0.5
        )
        boxes, _ = box_targets(batch, gather_rows(matches.box_index, drawn.index))
        wanted = encode(boxes, ops.take(ops.convert_to_tensor(anchors), drawn.index, axis=0))
        object_loss = binary_cross_entropy(
            gather_rows(objectness, drawn.index), ops.cast(drawn.positive, "float32")
        )
        box_loss = ops.sum(smooth_l1(gather_rows(offsets, drawn.index), wanted, beta=1.0 / 9.0), axis=-1)
        share = ops.maximum(count(drawn.chosen), 1.0)
        return {
            "rpn_objectness": sum_per_image(object_loss, drawn.chosen) / share,
            "rpn_localization": sum_per_image(box_loss, drawn.positive) / share,
        }

    # -- second stage ---------------------------------------------------------------------------

    def _second_stage_losses(
        self, batch: Batch, maps: list[Tensor], regions: Tensor, real: Tensor
    ) -> dict[str, Tensor]:
        """Regions and the true boxes themselves, a quarter positive; both sums divided by the number drawn."""
        true = ops.logical_and(batch["real"], ops.logical_not(batch["crowd"]))
        candidates = ops.concatenate([regions, ops.cast(batch["boxes"], "float32")], axis=1)
        present = ops.concatenate([real, true], axis=1)
        matches = match(
            candidates, batch["boxes"], batch["real"], batch["crowd"],
            positive_from=0.5, negative_below=0.5, force=False,
        )  # fmt: skip
        drawn = sample(
            ops.logical_and(matches.positive, present), ops.logical_and(matches.negative, present),
            seeds_of(batch) + 1, size=self.numbers.regions, positive_share=0.25,
        )  # fmt: skip
        picked = ops.where(drawn.chosen[..., None], gather_rows(candidates, drawn.index), padding_region())
        logits, offsets = self._look_closer(maps, picked)
        boxes, classes = box_targets(batch, gather_rows(matches.box_index, drawn.index))
        labels = ops.where(drawn.positive, classes, self.classes)
        own_class = ops.one_hot(labels, self.classes, dtype="float32")
        own_offsets = ops.sum(offsets * own_class[..., None], axis=2)
        box_loss = ops.sum(smooth_l1(own_offsets, encode(boxes, picked, SCALED)), axis=-1)
        share = ops.maximum(count(drawn.chosen), 1.0)
        return {
            "classification": sum_per_image(softmax_cross_entropy(logits, labels), drawn.chosen) / share,
            "localization": sum_per_image(box_loss, drawn.positive) / share,
        }

    def _look_closer(self, maps: list[Tensor], regions: Tensor) -> tuple[Tensor, Tensor]:
        count_ = regions.shape[1]
        level = level_of(regions, len(self.strides), canonical_level=2)
        cut = roi_align(maps[:-1], self.strides, regions, level)
        logits, offsets = self.region_head(ops.reshape(cut, (-1, 7 * 7 * self.numbers.channels)))
        return (
            ops.reshape(logits, (-1, count_, self.classes + 1)),
            ops.reshape(offsets, (-1, count_, self.classes, 4)),
        )


def seeds_of(batch: Batch) -> Tensor:
    """Without seeds the image's own number decides: the same sample of it in every epoch."""
    return ops.cast(batch["seeds"] if "seeds" in batch else batch["image"], "int32")


def padding_region() -> Tensor:
    """Where padding of the sample is cut out; it enters no loss."""
    return ops.convert_to_tensor((0.0, 0.0, 16.0, 16.0), dtype="float32")
