"""Which object of an API checkpoint each variable of the rebuilt network comes from, and what happens on the way.

Two things differ. The API has the background as the first class, Holdfast as the last. ResNet's first kernel takes
RGB there and BGR here, where the mean is subtracted in that order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from holdfast.detectors.object_detection_api.api_backbones import RESNET_BLOCKS
from holdfast.detectors.object_detection_api.api_options import FasterRcnnOptions, SsdOptions, from_pairs
from holdfast.detectors.spec import DetectorSpec

Array = NDArray[np.generic]
_EXTRACTOR, _PREDICTOR = "_feature_extractor", "_box_predictor"
_PYRAMID = f"{_EXTRACTOR}/_fpn_features_generator"
_BOXES, _CLASSES = "box_encodings", "class_predictions_with_background"


@dataclass(frozen=True, slots=True)
class CheckpointSource:
    """The path below the model's object, and the change that makes a weight of ours of it."""

    path: str
    change: Callable[[Array], Array]


def source_of(variable: str, spec: DetectorSpec) -> CheckpointSource:
    """Where the variable of this path is in a checkpoint of the API."""
    owner, weight = variable.rsplit("/", 1)
    change: Callable[[Array], Array] = _same
    if owner.endswith("conv1_conv"):
        change = _channels_turned
    elif re.search(r"class_out(_\d+)?$", owner) and weight != "depthwise_kernel":
        change = partial(_background_last, classes=len(spec.classes))
    if weight == "kernel" and re.search(r"_depthwise$|_spread(_\d+)?/conv$", owner):
        weight = "depthwise_kernel"  # as Keras 2 called it
    place = _two_stage(owner, spec) if spec.detector == "faster-rcnn" else _one_stage(owner, spec)
    return CheckpointSource(f"{place}/{weight}", change)


# -- one stage ------------------------------------------------------------------------------------


def _one_stage(owner: str, spec: DetectorSpec) -> str:
    options = from_pairs(SsdOptions, spec.options)
    part, _, rest = owner.partition("/")
    if part == "backbone":
        return f"{_EXTRACTOR}/classification_backbone/{_backbone_index(rest, spec)}"
    if part == "extra":
        return _extra_level(rest, options)
    if part == "pyramid":
        return _pyramid(rest, options)
    return _shared_head(rest, options) if options.pyramid else _level_head(rest, options)


def _extra_level(rest: str, options: SsdOptions) -> str:
    block, layer = rest.split("/")
    _, level, role = block.split("_")
    first = {"squeeze": 0, "spread": 3, "widen": 6 if options.separable else 3}[role]
    return f"{_EXTRACTOR}/feature_map_generator/convolutions/{int(level) + 2}/{first + _step(layer)}"


def _pyramid(rest: str, options: SsdOptions) -> str:
    block, _, layer = rest.partition("/")
    role, index = block.split("_")
    top = min(options.max_level, 5) - options.min_level
    if role == "project":
        return (
            f"{_PYRAMID}/top_layers/0"
            if int(index) == top
            else f"{_PYRAMID}/residual_blocks/{top - 1 - int(index)}/0"
        )
    if role == "smooth":
        return f"{_PYRAMID}/conv_layers/{top - 1 - int(index)}/{_step(layer)}"
    return f"{_EXTRACTOR}/_coarse_feature_layers/{index}/{_step(layer)}"


def _shared_head(rest: str, options: SsdOptions) -> str:
    part, _, layer = rest.partition("/")
    if part == "class_out":  # behind the dropout, which the box head does not have
        return (
            f"{_PREDICTOR}/_prediction_heads/{_CLASSES}/_class_predictor_layers/{int(options.head_dropout)}"
        )
    if part == "box_out":
        return f"{_PREDICTOR}/_box_prediction_head/_box_encoder_layers/0"
    head = _CLASSES if part == "class_tower" else _BOXES
    tower = f"{_PREDICTOR}/_base_tower_layers_for_heads/{head}"
    each = 3 if options.head_batch_norm else 2
    if layer.startswith("conv_"):
        return f"{tower}/0/{each * int(layer[5:])}"
    _, index, _, level = layer.split("_")
    return f"{tower}/{level}/{each * int(index) + 1}"


def _level_head(rest: str, options: SsdOptions) -> str:
    part, _, layer = rest.partition("/")
    kind, role, level = part.split("_")
    head, own = (_CLASSES, "_class_predictor_layers") if kind == "class" else (_BOXES, "_box_encoder_layers")
    last = 3 if options.head_separable else 0
    step = last if role == "out" else _step(layer)
    step += int(options.head_dropout and kind == "class")
    return f"{_PREDICTOR}/_prediction_heads/{head}/{level}/{own}/{step}"


def _step(layer: str) -> int:
    """Of a convolution and the normalisation behind it."""
    return 1 if layer == "norm" else 0


# -- two stages -----------------------------------------------------------------------------------


def _two_stage(owner: str, spec: DetectorSpec) -> str:
    part, _, rest = owner.partition("/")
    if part == "backbone":
        return f"_feature_extractor_for_proposal_features/{_backbone_index(rest, spec)}"
    if part == "region_head" and rest.startswith("conv5"):
        layers = list(_resnet_stage(5, RESNET_BLOCKS[spec.backbone][3]))
        return f"_feature_extractor_for_box_classifier_features/layer_with_weights-{layers.index(rest)}"
    first, head = "_first_stage_box_predictor", "_mask_rcnn_box_predictor"
    return {
        "rpn/conv": f"{first}_first_conv/layer_with_weights-0",
        "rpn/object_out": f"{first}/_prediction_heads/{_CLASSES}/0/_class_predictor_layers/0",
        "rpn/box_out": f"{first}/_prediction_heads/{_BOXES}/0/_box_encoder_layers/0",
        "region_head/class_out": f"{head}/_class_prediction_head/_class_predictor_layers/1",
        "region_head/box_out": f"{head}/_box_prediction_head/_box_encoder_layers/1",
    }[owner]


def has_box_for_each_class(spec: DetectorSpec) -> bool:
    return spec.detector == "faster-rcnn" and not from_pairs(FasterRcnnOptions, spec.options).shared_boxes


# -- the order of a backbone's layers -------------------------------------------------------------


def _backbone_index(layer: str, spec: DetectorSpec) -> str:
    if spec.backbone == "mobilenet_v2":
        order = list(_mobilenet_layers())
    else:
        order = ["conv1_conv", "conv1_bn"]
        for stage, count in zip((2, 3, 4, 5), RESNET_BLOCKS[spec.backbone], strict=True):
            order += _resnet_stage(stage, count)
    return f"layer_with_weights-{order.index(layer)}"


def _mobilenet_layers() -> Iterator[str]:
    yield from ("Conv1", "bn_Conv1")
    for block in range(17):
        name = f"block_{block}" if block else "expanded_conv"
        for part in ("expand", "depthwise", "project") if block else ("depthwise", "project"):
            yield from (f"{name}_{part}", f"{name}_{part}_BN")
    yield from ("Conv_1", "Conv_1_bn")


def _resnet_stage(stage: int, count: int) -> Iterator[str]:
    """By depth, as Keras lists the layers of a model: a shortcut comes beside the last convolution of its block."""
    for block in range(1, count + 1):
        name = f"conv{stage}_block{block}"
        for part in (1, 2):
            yield from (f"{name}_{part}_conv", f"{name}_{part}_bn")
        parts = (0, 3) if block == 1 else (3,)
        for kind in ("conv", "bn"):
            yield from (f"{name}_{part}_{kind}" for part in parts)


# -- changes --------------------------------------------------------------------------------------


def _same(value: Array) -> Array:
    return value


def _channels_turned(kernel: Array) -> Array:
    return kernel[:, :, ::-1]


def _background_last(value: Array, classes: int) -> Array:
    """The last axis is anchors by classes, the background first."""
    by_class = value.reshape(*value.shape[:-1], -1, classes + 1)
    return np.roll(by_class, -1, axis=-1).reshape(value.shape)
