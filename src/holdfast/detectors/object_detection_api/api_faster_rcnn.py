"""The Object Detection API's Faster R-CNN: one feature map of stride 16, regions cut out of it, and the last stage of
the backbone over each region."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import initializers, layers, ops

from holdfast.detectors.anchors.balanced_sampler import sample
from holdfast.detectors.batch import Batch, box_targets, count, sum_per_image
from holdfast.detectors.object_detection_api.api_anchors import region_anchors
from holdfast.detectors.object_detection_api.api_backbones import RESNET_BLOCKS, resnet_backbone, resnet_stage
from holdfast.detectors.object_detection_api.api_options import FasterRcnnOptions, from_pairs
from holdfast.detectors.object_detection_api.argmax_matcher import match
from holdfast.detectors.object_detection_api.box_coding import decode, encode, to_xyxy, to_yxyx
from holdfast.detectors.object_detection_api.crop_regions import crop_and_pool
from holdfast.detectors.object_detection_api.greedy_nms import suppress
from holdfast.detectors.ops.batched_gather import gather_rows
from holdfast.detectors.ops.losses import smooth_l1, softmax_cross_entropy
from holdfast.detectors.ops.nms import Detections
from holdfast.detectors.spec import DetectorSpec

Tensor = Any

_RPN = {"matched_from": 0.7, "unmatched_below": 0.3, "forced": True}
_REGION = {"matched_from": 0.5, "unmatched_below": 0.5, "forced": False}


class ApiFasterRCNN(keras.Model):
    """`call` gives, for the proposed regions: class logits, background last, box codes, the regions, and which are
    real. Regions are in pixels, as y1, x1, y2, x2."""

    def __init__(self, spec: DetectorSpec) -> None:
        super().__init__(name="object_detection_api_faster_rcnn")
        self.spec = spec
        self.classes = len(spec.classes)
        self.options = options = from_pairs(FasterRcnnOptions, spec.options)
        self.backbone = resnet_backbone(
            spec.backbone, spec.input, activation=options.base_activation, epsilon=options.base_epsilon, stages=(4,),
            rematerialise=spec.rematerialise,
        )  # fmt: skip
        (features,) = self.backbone(keras.Input((*spec.input, 3), dtype="uint8"))
        size = (features.shape[1], features.shape[2])
        self.anchors = region_anchors(options, size, spec.input, clipped=True)
        self.trained_anchors = region_anchors(options, size, spec.input, clipped=options.clip_anchors)
        self.rpn = RegionProposals(options)
        self.rpn(features)
        side = (options.crop - options.pool) // options.pool_stride + 1
        self.region_network = RegionNetwork(spec, options, side, features.shape[-1])
        self.region_network(keras.Input((side, side, features.shape[-1])))
        self.built = True

    def call(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        (features,) = self.backbone(images)
        objectness, codes = self.rpn(features)
        regions, real = self._propose(objectness, codes, self.anchors, None)
        return (*self._look_closer(features, regions), regions, real)

    def detect(self, images: Tensor) -> Detections:
        return self.detections(*self(images))

    def detections(self, logits: Tensor, codes: Tensor, regions: Tensor, real: Tensor) -> Detections:
        """What outputs of `call` say."""
        options = self.options
        scores = ops.where(real[..., None], ops.softmax(logits)[..., : self.classes], -1.0)
        boxes = decode(codes, regions[:, :, None, :], options.box_scales)
        found = suppress(
            boxes[:, :, 0] if options.shared_boxes else boxes, scores, self.spec.input,
            score_above=options.score_above, overlap_above=options.overlap_above,
            most_per_class=options.most_per_class, most=options.most, candidates=30_000,
        )  # fmt: skip
        return Detections(to_xyxy(found.boxes, 1.0, 1.0), found.scores, found.classes)

    def losses_of(self, batch: Batch) -> dict[str, Tensor]:
        (features,) = self.backbone(batch["images"])
        objectness, codes = self.rpn(features)
        inside = None if self.options.clip_anchors else _inside(self.trained_anchors, self.spec.input)
        regions, real = self._propose(objectness, codes, self.trained_anchors, inside)
        return self._first_stage(batch, objectness, codes, inside) | self._second_stage(
            batch, features, regions, real
        )

    def _propose(
        self, objectness: Tensor, codes: Tensor, anchors: Any, inside: Any | None
    ) -> tuple[Tensor, Tensor]:
        """The best regions, cut at the image's edges, and which are real."""
        options = self.options
        scores = ops.softmax(ops.stop_gradient(objectness))[..., 1:]
        if inside is not None:
            scores = ops.where(inside[None, :, None], scores, -1.0)
        found = suppress(
            decode(ops.stop_gradient(codes), ops.convert_to_tensor(anchors)[None], options.box_scales), scores,
            self.spec.input, score_above=options.rpn_score_above, overlap_above=options.rpn_overlap_above,
            most_per_class=options.proposals, most=options.proposals,
        )  # fmt: skip
        return ops.stop_gradient(found.boxes), found.classes >= 0

    def _first_stage(
        self, batch: Batch, objectness: Tensor, codes: Tensor, inside: Any | None
    ) -> dict[str, Tensor]:
        options = self.options
        boxes = to_yxyx(batch["boxes"])
        usable = np.ones(len(self.trained_anchors), bool) if inside is None else inside
        matches = match(
            self.trained_anchors, boxes, batch["real"], batch["crowd"], usable=usable, **_RPN,  # type: ignore[arg-type]
        )  # fmt: skip
        drawn = sample(
            ops.logical_and(matches.positive, usable), ops.logical_and(matches.negative, usable), _seeds(batch),
            size=options.rpn_batch, positive_share=options.rpn_positive_share,
        )  # fmt: skip
        own = gather_rows(boxes, gather_rows(matches.box_index, drawn.index))
        wanted = encode(
            own,
            ops.take(ops.convert_to_tensor(self.trained_anchors), drawn.index, axis=0),
            options.box_scales,
        )
        labels = ops.cast(drawn.positive, "int32")
        class_loss = softmax_cross_entropy(gather_rows(objectness, drawn.index), labels)
        box_loss = ops.sum(smooth_l1(gather_rows(codes, drawn.index), wanted), axis=-1)
        share = ops.maximum(count(drawn.chosen), 1.0)
        return {
            "rpn_objectness": sum_per_image(class_loss, drawn.chosen) * (options.rpn_class_weight / share),
            "rpn_localization": sum_per_image(box_loss, drawn.positive) * (options.rpn_box_weight / share),
        }

    def _second_stage(
        self, batch: Batch, features: Tensor, regions: Tensor, real: Tensor
    ) -> dict[str, Tensor]:
        options = self.options
        boxes = to_yxyx(batch["boxes"])
        matches = match(regions, boxes, batch["real"], batch["crowd"], **_REGION)  # type: ignore[arg-type]
        drawn = sample(
            ops.logical_and(matches.positive, real), ops.logical_and(matches.negative, real), _seeds(batch) + 1,
            size=options.region_batch, positive_share=options.region_positive_share,
        )  # fmt: skip
        picked = gather_rows(regions, drawn.index)
        logits, codes = self._look_closer(features, picked)
        box_index = gather_rows(matches.box_index, drawn.index)
        _, classes = box_targets(batch, box_index)
        labels = ops.where(drawn.positive, classes, self.classes)
        if options.shared_boxes:
            own_codes = codes[:, :, 0]
        else:
            own_codes = ops.sum(codes * ops.one_hot(labels, self.classes, dtype="float32")[..., None], axis=2)
        wanted = encode(gather_rows(boxes, box_index), picked, options.box_scales)
        box_loss = ops.sum(smooth_l1(own_codes, wanted), axis=-1)
        share = ops.maximum(count(drawn.chosen), 1.0)
        class_loss = sum_per_image(softmax_cross_entropy(logits, labels), drawn.chosen)
        return {
            "classification": class_loss * (options.class_weight / share),
            "localization": sum_per_image(box_loss, drawn.positive) * (options.box_weight / share),
        }

    def _look_closer(self, features: Tensor, regions: Tensor) -> tuple[Tensor, Tensor]:
        options, number = self.options, regions.shape[1]
        cut = crop_and_pool(
            features,
            regions,
            self.spec.input,
            crop=options.crop,
            pool=options.pool,
            stride=options.pool_stride,
        )
        logits, codes = self.region_network(cut)
        return (
            ops.reshape(logits, (-1, number, self.classes + 1)),
            ops.reshape(codes, (-1, number, codes.shape[-1] // 4, 4)),
        )


class RegionProposals(keras.layers.Layer):
    """Objectness (b, a, 2), background first, and box codes (b, a, 4)."""

    def __init__(self, options: FasterRcnnOptions) -> None:
        super().__init__(name="rpn")
        small = initializers.RandomNormal(stddev=0.01)
        each = len(options.anchor_scales) * len(options.ratios)
        self.conv = layers.Conv2D(
            options.rpn_channels, options.rpn_kernel, padding="same", dilation_rate=options.rpn_dilation,
            kernel_initializer=small, name="conv",
        )  # fmt: skip
        self.object_out = layers.Conv2D(
            each * 2, 1, kernel_initializer=small, dtype="float32", name="object_out"
        )
        self.box_out = layers.Conv2D(each * 4, 1, kernel_initializer=small, dtype="float32", name="box_out")

    def call(self, features: Tensor) -> tuple[Tensor, Tensor]:
        seen = ops.relu6(self.conv(features))
        return ops.reshape(self.object_out(seen), (ops.shape(seen)[0], -1, 2)), ops.reshape(
            self.box_out(seen), (ops.shape(seen)[0], -1, 4)
        )


class RegionNetwork(keras.layers.Layer):
    """The backbone's last stage over each region, its mean, and a dense layer for classes and one for boxes."""

    def __init__(self, spec: DetectorSpec, options: FasterRcnnOptions, side: int, channels: int) -> None:
        super().__init__(name="region_head")
        regions = keras.Input((side, side, channels))
        with keras.name_scope("region_head"):
            out = resnet_stage(
                regions, 5, RESNET_BLOCKS[spec.backbone][3], options.base_activation, options.base_epsilon
            )
        self.stage = keras.Model(regions, out, name="stage")
        classes = len(spec.classes)
        self.class_out = layers.Dense(classes + 1, dtype="float32", name="class_out")
        self.box_out = layers.Dense(
            4 if options.shared_boxes else 4 * classes, dtype="float32", name="box_out"
        )

    def call(self, regions: Tensor) -> tuple[Tensor, Tensor]:
        mean = ops.mean(self.stage(regions, training=False), axis=(1, 2))
        return self.class_out(mean), self.box_out(mean)


def _inside(anchors: Any, size: tuple[int, int]) -> Any:
    return np.all((anchors >= 0.0) & (anchors <= np.array([*size, *size], np.float32)), axis=1)


def _seeds(batch: Batch) -> Tensor:
    """Without seeds the image's own number decides: the same sample of it in every epoch."""
    return ops.cast(batch["seeds"] if "seeds" in batch else batch["image"], "int32")
