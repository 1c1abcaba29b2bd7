"""Faster R-CNN on ResNet-50 (both versions) and MobileNetV3-Large as torchvision computes it."""

# mypy: allow-subclassing-any

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from holdfast.detectors.anchors.balanced_sampler import sample
from holdfast.detectors.anchors.matcher import match
from holdfast.detectors.batch import Batch, box_targets, count, sum_per_image
from holdfast.detectors.faster_rcnn import padding_region, seeds_of
from holdfast.detectors.ops.batched_gather import gather_rows
from holdfast.detectors.ops.boxes import SCALED, clip, decode, encode
from holdfast.detectors.ops.losses import binary_cross_entropy, smooth_l1, softmax_cross_entropy
from holdfast.detectors.ops.nms import Detections
from holdfast.detectors.ops.proposals import propose
from holdfast.detectors.ops.roi_align import roi_align
from holdfast.detectors.spec import DetectorSpec
from holdfast.detectors.torchvision import torchvision_anchors
from holdfast.detectors.torchvision.torchvision_backbones import mobilenet_backbone, resnet_backbone
from holdfast.detectors.torchvision.torchvision_detections import (
    best_of_regions,
    image_by_image,
    torch_level_of,
)
from holdfast.detectors.torchvision.torchvision_heads import (
    TorchvisionProposalHead,
    TorchvisionPyramid,
    TorchvisionRegionHead,
)

Tensor = Any

BETA = 1.0 / 9.0  # of the smooth L1 of both stages


@dataclass(frozen=True, slots=True)
class TorchvisionCounts:
    """How many of everything; in training twice as many proposals. `score` is the least objectness of a proposal."""

    proposals: int = 1000
    training_proposals: int = 2000
    anchors: int = 256
    regions: int = 512
    positive_anchors: float = 0.5
    positive_regions: float = 0.25
    score: float = 0.0


class TorchvisionFasterRCNN(keras.Model):
    """`call` gives, for the proposed regions: class logits, background last, offsets, the regions, which are real."""

    def __init__(self, spec: DetectorSpec) -> None:
        super().__init__(name="faster_rcnn")
        self.spec = spec
        self.classes = len(spec.classes)
        small, newer = spec.backbone == "mobilenet_v3_large", spec.variant == "torchvision-v2"
        self.numbers = _small_counts(spec.input) if small else TorchvisionCounts()
        self.backbone = (
            mobilenet_backbone(spec) if small else resnet_backbone(spec, frozen=not newer, first_tap=0)
        )
        self.pyramid = TorchvisionPyramid(2 if small else 4, "pool", norm="batch" if newer else "")
        maps = self.pyramid(self.backbone(keras.Input((*spec.input, 3), dtype="uint8")))
        sizes_of_levels = (
            [torchvision_anchors.SIZES] * 3 if small else [(n,) for n in torchvision_anchors.SIZES]
        )
        shapes = spec.anchors or torchvision_anchors.pyramid_shapes(sizes_of_levels)
        sizes = [(level.shape[1], level.shape[2]) for level in maps]
        self.level_anchors = torchvision_anchors.pyramid_anchors(sizes, spec.input, shapes)
        # All regions of the small form are cut from its first map: both maps have its stride.
        self.strides = [(32.0, 32.0)] if small else [(stride, stride) for stride in (4.0, 8.0, 16.0, 32.0)]
        self.rpn = TorchvisionProposalHead(len(shapes[0]), 2 if newer else 1)
        self.rpn(maps)
        self.region_head = TorchvisionRegionHead(self.classes, convolutions=newer)
        self.region_head(keras.Input((7, 7, maps[0].shape[-1])))
        self.built = True

    # -- the two stages -------------------------------------------------------------------------

    def call(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        maps = self.pyramid(self.backbone(images))
        objectness, proposed = self.rpn(maps)
        regions, real = self._propose(objectness, proposed, self.numbers.proposals)
        logits, offsets = self._look_closer(maps, regions)
        return logits, offsets, regions, real

    def losses_of(self, batch: Batch) -> dict[str, Tensor]:
        maps = self.pyramid(self.backbone(batch["images"]))
        objectness, offsets = self.rpn(maps)
        regions, real = self._propose(objectness, offsets, self.numbers.training_proposals)
        first = self._first_stage_losses(
            batch, ops.concatenate(objectness, axis=1), ops.concatenate(offsets, axis=1)
        )
        return first | self._second_stage_losses(batch, maps, regions, real)

    def detect(self, images: Tensor) -> Detections:
        logits, offsets, regions, real = self(images)
        boxes = clip(decode(offsets, regions[:, :, None, :], SCALED), *self.spec.input)
        scores = ops.where(real[..., None], ops.softmax(logits)[..., : self.classes], 0.0)
        return image_by_image(
            lambda parts: best_of_regions(*parts, score_above=0.05, overlap_above=0.5, size=100),
            [boxes, scores],
        )

    # -- first stage ----------------------------------------------------------------------------

    def _propose(self, objectness: list[Tensor], offsets: list[Tensor], size: int) -> tuple[Tensor, Tensor]:
        return propose(
            [ops.stop_gradient(level) for level in objectness],
            [ops.stop_gradient(level) for level in offsets],
            list(self.level_anchors), self.spec.input, per_level=size, size=size,
            smallest=1e-3, objectness_above=self.numbers.score, rounded=False,
        )  # fmt: skip

    def _first_stage_losses(self, batch: Batch, objectness: Tensor, offsets: Tensor) -> dict[str, Tensor]:
        anchors = np.concatenate(self.level_anchors)
        matches = match(
            anchors, batch["boxes"], batch["real"], batch["crowd"],
            positive_from=0.7, negative_below=0.3, force=True, with_ties=True,
        )  # fmt: skip
        drawn = sample(
            matches.positive, matches.negative, seeds_of(batch),
            size=self.numbers.anchors, positive_share=self.numbers.positive_anchors,
        )  # fmt: skip
        boxes, _ = box_targets(batch, gather_rows(matches.box_index, drawn.index))
        wanted = encode(boxes, ops.take(ops.convert_to_tensor(anchors), drawn.index, axis=0))
        object_loss = binary_cross_entropy(
            gather_rows(objectness, drawn.index), ops.cast(drawn.positive, "float32")
        )
        box_loss = ops.sum(smooth_l1(gather_rows(offsets, drawn.index), wanted, beta=BETA), axis=-1)
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
            seeds_of(batch) + 1, size=self.numbers.regions, positive_share=self.numbers.positive_regions,
        )  # fmt: skip
        picked = ops.where(drawn.chosen[..., None], gather_rows(candidates, drawn.index), padding_region())
        logits, offsets = self._look_closer(maps, picked)
        boxes, classes = box_targets(batch, gather_rows(matches.box_index, drawn.index))
        labels = ops.where(drawn.positive, classes, self.classes)
        own_class = ops.one_hot(labels, self.classes, dtype="float32")
        own_offsets = ops.sum(offsets * own_class[..., None], axis=2)
        box_loss = ops.sum(smooth_l1(own_offsets, encode(boxes, picked, SCALED), beta=BETA), axis=-1)
        share = ops.maximum(count(drawn.chosen), 1.0)
        return {
            "classification": sum_per_image(softmax_cross_entropy(logits, labels), drawn.chosen) / share,
            "localization": sum_per_image(box_loss, drawn.positive) / share,
        }

    def _look_closer(self, maps: list[Tensor], regions: Tensor) -> tuple[Tensor, Tensor]:
        number, levels = regions.shape[1], len(self.strides)
        level = torch_level_of(regions, levels, finest=2)
        cut = roi_align(maps[:levels], self.strides, regions, level, aligned=False)
        logits, offsets = self.region_head(ops.reshape(cut, (-1, *cut.shape[2:])))
        return (
            ops.reshape(logits, (-1, number, self.classes + 1)),
            ops.reshape(offsets, (-1, number, self.classes, 4)),
        )


def _small_counts(input_size: tuple[int, int]) -> TorchvisionCounts:
    """torchvision's low-resolution form proposes few regions; that of 800 pixels as many as ResNet's."""
    few = max(input_size) <= LOW_RESOLUTION
    return TorchvisionCounts(proposals=150 if few else 1000, score=0.05)


#: Up to this side an input is served by the counts of torchvision's `320` form, which takes 320 to 640 pixels.
LOW_RESOLUTION = 640
