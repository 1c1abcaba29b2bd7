"""SSD (Liu et al. 2016) on VGG16 or ResNet50, and SSDLite (Sandler et al. 2018) on MobileNetV2."""

# mypy: allow-subclassing-any

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from holdfast.detectors.anchors import grid as anchor_boxes
from holdfast.detectors.anchors.anchor_defaults import SSD_LARGE, shapes_of
from holdfast.detectors.anchors.matcher import match
from holdfast.detectors.backbones.backbone import build_backbone, group_normalization
from holdfast.detectors.batch import Batch, box_targets, count, sum_per_image
from holdfast.detectors.fusion.relu_from_output import Relu
from holdfast.detectors.heads import CLASS_PRIOR, MergedPredictors, Predictor
from holdfast.detectors.ops.boxes import SCALED, clip, decode
from holdfast.detectors.ops.losses import background_bias, box_loss, hardest_negatives, softmax_cross_entropy
from holdfast.detectors.ops.nms import Detections, per_class_nms
from holdfast.detectors.spec import DetectorSpec

Tensor = Any


class SSD(keras.Model):
    """Predictions at several strides from one pass. `call` gives logits, background last, and offsets."""

    def __init__(self, spec: DetectorSpec, weights: str | None = None) -> None:
        super().__init__(name="ssd")
        self.spec = spec
        self.classes = len(spec.classes)
        self.backbone = build_backbone(
            spec.backbone, spec.input, for_ssd=True, weights=weights,
            normalization=spec.normalization, rematerialise=spec.rematerialise,
        )  # fmt: skip
        self.deeper = ExtraLevels(spec.backbone, large=min(spec.input) >= SSD_LARGE)
        features = self.deeper(self.backbone(keras.Input((*spec.input, 3), dtype="uint8")))
        shapes = spec.anchors or shapes_of("ssd", spec.backbone, spec.input)
        sizes = [(level.shape[1], level.shape[2]) for level in features]
        self.anchors = anchor_boxes.all_levels(sizes, spec.input, shapes)
        light = spec.backbone == "mobilenet_v2"
        class_bias = [0.0] * self.classes + [background_bias(CLASS_PRIOR, self.classes)]
        self.class_heads = [
            Predictor(len(level), self.classes + 1, class_bias, light=light, name=f"class_out_{i}")
            for i, level in enumerate(shapes)
        ]
        self.box_heads = [
            Predictor(len(level), 4, [0.0], light=light, name=f"box_out_{i}")
            for i, level in enumerate(shapes)
        ]
        self.together = MergedPredictors()
        self._predict(features)
        self.built = True

    def call(self, images: Tensor) -> tuple[Tensor, Tensor]:
        return self._predict(self.deeper(self.backbone(images)))

    def losses_of(self, batch: Batch) -> dict[str, Tensor]:
        """Equation 1 of the paper, image by image: both sums divided by the image's matched anchors, or by 1."""
        logits, offsets = self._by_level(self.deeper(self.backbone(batch["images"])))
        matches = match(
            self.anchors, batch["boxes"], batch["real"], batch["crowd"],
            positive_from=0.5, negative_below=0.5, force=True,
        )  # fmt: skip
        boxes, classes = box_targets(batch, matches.box_index)
        labels, edges = ops.where(matches.positive, classes, self.classes), [0]
        for level in logits:
            edges.append(edges[-1] + level.shape[1])
        # Level by level: joined, all logits and their gradient would be written once more.
        class_loss = ops.concatenate(
            [
                softmax_cross_entropy(level, labels[:, first:last])
                for level, first, last in zip(logits, edges[:-1], edges[1:], strict=True)
            ],
            axis=1,
        )
        positives = count(matches.positive)
        hard = hardest_negatives(ops.stop_gradient(class_loss), matches.negative, positives)
        located = box_loss(
            ops.concatenate(offsets, axis=1), boxes, self.anchors, SCALED, kind=self.spec.box_loss, beta=1.0
        )  # fmt: skip
        share = ops.maximum(positives, 1.0)
        return {
            "classification": sum_per_image(class_loss, ops.logical_or(matches.positive, hard)) / share,
            "localization": sum_per_image(located, matches.positive) / share,
        }

    def detect(self, images: Tensor) -> Detections:
        logits, offsets = self(images)
        boxes = clip(decode(offsets, self.anchors, SCALED), *self.spec.input)
        scores = ops.softmax(logits)[..., : self.classes]
        return per_class_nms(boxes, scores, score_above=0.01, overlap_above=0.45)

    def _predict(self, features: list[Tensor]) -> tuple[Tensor, Tensor]:
        logits, offsets = self._by_level(features)
        return ops.concatenate(logits, axis=1), ops.concatenate(offsets, axis=1)

    def _by_level(self, features: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        found = [
            self.together.of(class_head, box_head, level)
            for class_head, box_head, level in zip(self.class_heads, self.box_heads, features, strict=True)
        ]
        return [logits for logits, _ in found], [offsets for _, offsets in found]


class ExtraLevels(keras.layers.Layer):
    """The levels below the backbone's last, each a 1 x 1 and a strided 3 x 3 convolution; six levels in all, or
    seven for inputs of 448 pixels and more. VGG16's first features are brought to a common length first."""

    def __init__(self, backbone: str, *, large: bool) -> None:
        super().__init__(name="deeper")
        self.rescale = L2NormScale(20.0, name="rescale") if backbone == "vgg16" else None
        self.steps = []
        for i, (squeeze, widen, stride) in enumerate(_extra_level_plan(backbone, large)):
            self.steps.append(_ExtraLevel(squeeze, widen, stride, backbone, name=f"step_{i}"))

    def call(self, features: list[Tensor]) -> list[Tensor]:
        found = list(features)
        if self.rescale is not None:
            found[0] = self.rescale(found[0])
        for step in self.steps:
            found.append(step(found[-1]))
        return found


def _extra_level_plan(backbone: str, large: bool) -> list[tuple[int, int, int]]:
    """(channels inside, channels out, stride). VGG16 at 300: the last two steps shrink by an unpadded 3 x 3."""
    if backbone == "vgg16":
        if large:
            return [(256, 512, 2), (128, 256, 2), (128, 256, 2), (128, 256, 2), (128, 256, 2)]
        return [(256, 512, 2), (128, 256, 2), (128, 256, 1), (128, 256, 1)]
    if backbone == "resnet50":
        plan = [(256, 512, 2), (128, 256, 2), (128, 256, 2)]
        return [*plan, (128, 256, 2)] if large else plan
    return [(256, 512, 2), (128, 256, 2), (128, 256, 2), (64, 128, 2)]


class _ExtraLevel(keras.layers.Layer):
    """VGG16's have no normalisation, as in the paper; the others' is by groups."""

    def __init__(self, squeeze: int, widen: int, stride: int, backbone: str, name: str) -> None:
        super().__init__(name=name)
        plain = backbone == "vgg16"
        self.parts = [
            layers.Conv2D(squeeze, 1, use_bias=plain, kernel_initializer="he_uniform", name="squeeze")
        ]
        self.parts += [] if plain else [group_normalization(squeeze, "normalise_squeeze")]
        self.parts.append(Relu(name="relu_squeeze"))
        if backbone == "mobilenet_v2":
            self.parts.append(
                layers.DepthwiseConv2D(3, stride, padding="same", use_bias=False, name="spread")
            )
            self.parts += [group_normalization(squeeze, "normalise_spread"), Relu(name="relu_spread")]
            self.parts.append(
                layers.Conv2D(widen, 1, use_bias=False, kernel_initializer="he_uniform", name="widen")
            )
        else:
            self.parts.append(
                layers.Conv2D(
                    widen, 3, stride, padding="same" if stride == 2 else "valid", use_bias=plain,
                    kernel_initializer="he_uniform", name="widen",
                )
            )  # fmt: skip
        self.parts += [] if plain else [group_normalization(widen, "normalise_widen")]
        self.parts.append(Relu(name="relu_widen"))

    def call(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x


class L2NormScale(keras.layers.Layer):
    """Each cell's features divided by their length, times a learned factor a channel (Liu et al. 2015, ParseNet)."""

    def __init__(self, start: float, name: str) -> None:
        super().__init__(name=name)
        self.start = start

    def build(self, shape: tuple[int, ...]) -> None:
        self.factor = self.add_weight(
            shape=(shape[-1],), initializer=keras.initializers.Constant(self.start), name="factor"
        )

    def call(self, x: Tensor) -> Tensor:
        length = ops.sqrt(ops.sum(ops.square(ops.cast(x, "float32")), axis=-1, keepdims=True) + 1e-10)
        return x * ops.cast(1.0 / length, x.dtype) * ops.cast(self.factor, x.dtype)
