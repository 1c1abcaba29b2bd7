"""The Object Detection API's SSD: on MobileNetV2 with extra levels, or on a feature pyramid (RetinaNet, FPNLite)."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from holdfast.detectors.batch import Batch, box_targets, count, sum_per_image
from holdfast.detectors.object_detection_api.api_anchors import ssd_anchors
from holdfast.detectors.object_detection_api.api_backbones import mobilenet_backbone, resnet_backbone
from holdfast.detectors.object_detection_api.api_layers import ExtraFeatureMaps, TopDownPyramid
from holdfast.detectors.object_detection_api.api_options import SsdOptions, ssd_options
from holdfast.detectors.object_detection_api.api_predictors import LevelPredictors, SharedPredictor
from holdfast.detectors.object_detection_api.argmax_matcher import match
from holdfast.detectors.object_detection_api.box_coding import decode, encode, from_pixels, to_xyxy
from holdfast.detectors.object_detection_api.greedy_nms import suppress
from holdfast.detectors.ops.batched_gather import gather_rows
from holdfast.detectors.ops.losses import focal, smooth_l1
from holdfast.detectors.ops.nms import Detections
from holdfast.detectors.spec import DetectorSpec

Tensor = Any


class ApiSSD(keras.Model):
    """`call` gives a logit for each class and the background, and the codes of boxes, for all anchors."""

    def __init__(self, spec: DetectorSpec) -> None:
        super().__init__(name="object_detection_api_ssd")
        self.spec = spec
        self.classes = len(spec.classes)
        self.options = options = ssd_options(spec.detector, spec.backbone, spec.options)
        self.backbone = _backbone(spec, options)
        self.added = (
            TopDownPyramid(options)
            if options.pyramid
            else ExtraFeatureMaps(options, len(options.level_anchors))
        )
        maps = self.added(self.backbone(keras.Input((*spec.input, 3), dtype="uint8")))
        self.anchors = ssd_anchors(options, [(level.shape[1], level.shape[2]) for level in maps], spec.input)
        if options.pyramid:
            each = len(options.ratios) * options.octave_scales
            self.predictor = SharedPredictor(options, self.classes, each, len(maps))
        else:
            self.predictor = LevelPredictors(
                options, self.classes, [len(level) for level in options.level_anchors]
            )
        self.predictor(maps)
        self.built = True

    def call(self, images: Tensor) -> tuple[Tensor, Tensor]:
        logits, codes = self.predictor(self.added(self.backbone(images)))
        return logits, codes

    def losses_of(self, batch: Batch) -> dict[str, Tensor]:
        """Both sums are divided by the image's own matched anchors; the API divides by those of the whole batch."""
        options = self.options
        logits, codes = self(batch["images"])
        boxes = from_pixels(batch["boxes"], *self.spec.input)
        matches = match(
            self.anchors, boxes, batch["real"], batch["crowd"], matched_from=options.matched_from,
            unmatched_below=options.unmatched_below, forced=options.forced,
        )  # fmt: skip
        _, classes = box_targets(batch, matches.box_index)
        wanted = ops.one_hot(ops.where(matches.positive, classes, -1), self.classes + 1, dtype="float32")
        class_loss = ops.sum(focal(logits, wanted, options.alpha, options.gamma), axis=-1)
        targets = encode(gather_rows(boxes, matches.box_index), self.anchors, options.box_scales)
        box_loss = ops.sum(smooth_l1(codes, targets, options.huber_delta), axis=-1) * options.huber_delta
        share = ops.maximum(count(matches.positive), 1.0)
        counts = ops.logical_or(matches.positive, matches.negative)
        per_box = 4.0 if options.per_code else 1.0
        return {
            "classification": sum_per_image(class_loss, counts) * (options.class_weight / share),
            "localization": sum_per_image(box_loss, matches.positive)
            * (options.box_weight / share)
            / per_box,
        }

    def detect(self, images: Tensor) -> Detections:
        options = self.options
        logits, codes = self(images)
        found = suppress(
            decode(codes, ops.convert_to_tensor(self.anchors)[None], options.box_scales),
            ops.sigmoid(logits[..., : self.classes]), (1.0, 1.0), score_above=options.score_above,
            overlap_above=options.overlap_above, most_per_class=options.most_per_class, most=options.most,
        )  # fmt: skip
        return Detections(to_xyxy(found.boxes, *self.spec.input), found.scores, found.classes)


def _backbone(spec: DetectorSpec, options: SsdOptions) -> Any:
    how: dict[str, Any] = {
        "activation": options.base_activation, "epsilon": options.base_epsilon, "rematerialise": spec.rematerialise
    }  # fmt: skip
    if spec.backbone == "mobilenet_v2":
        return mobilenet_backbone(spec.input, min_level=options.min_level if options.pyramid else None, **how)
    return resnet_backbone(spec.backbone, spec.input, stages=tuple(range(options.min_level, 6)), **how)
