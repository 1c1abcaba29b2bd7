"""What both kinds of detectors read of a pipeline.config, and the error that a network is none of Holdfast's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.detectors.object_detection_api.api_options import FasterRcnnOptions, Pairs, SsdOptions, as_pairs
from holdfast.weights_import.object_detection_api.config_sections import Section
from holdfast.weights_import.object_detection_api.image_size import ImageSize

_ACTIVATIONS = {"NONE": "none", "RELU": "relu", "RELU_6": "relu6"}


class NotOurs(ValueError):
    """The text says which part of the network Holdfast does not have, and `line` where it is asked for."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """A network and what it is trained with that a recipe has settings for."""

    detector: str
    backbone: str
    classes: int
    size: ImageSize
    options: Pairs
    weight_decay: float  # as a loss: half of the squares times this


def require(section: Section, name: str, allowed: object, found: object, what: str) -> None:
    if found != allowed:
        raise NotOurs(f"{what} ({section.path}.{name}: {found})", section.line_of(name))


def hyperparams(section: Section) -> tuple[float, dict[str, Any]]:
    """The weight of the L2 regularizer, and what decides the arithmetic of layers."""
    activation = section.text("activation", "RELU")
    if activation not in _ACTIVATIONS:
        raise NotOurs(f"the activation {activation}", section.line_of("activation"))
    norm = "sync_batch_norm" if section.has("sync_batch_norm") else "batch_norm"
    decay = section.section("regularizer").section("l2_regularizer").number("weight", 0.0)
    return decay, {
        "activation": _ACTIVATIONS[activation], "batch_norm": section.has(norm),
        "epsilon": section.section(norm).number("epsilon", 1e-3),
    }  # fmt: skip


def suppression(section: Section, converter: str) -> dict[str, Any]:
    found = section.text("score_converter", "IDENTITY")
    require(section, "score_converter", converter, found, f"scores are not those of a {converter.lower()}")
    require(section, "logit_scale", 1.0, section.number("logit_scale", 1.0), "logits are scaled")
    inner = section.section("batch_non_max_suppression")
    require(inner, "soft_nms_sigma", 0.0, inner.number("soft_nms_sigma", 0.0), "boxes are suppressed softly")
    return {
        "score_above": inner.number("score_threshold", 0.0), "overlap_above": inner.number("iou_threshold", 0.6),
        "most_per_class": inner.whole("max_detections_per_class", 100),
        "most": inner.whole("max_total_detections", 100),
    }  # fmt: skip


def class_count(section: Section) -> int:
    count = section.whole("num_classes", 0)
    if not 0 < count <= 100_000:
        raise NotOurs(f"num_classes is {count}", section.line_of("num_classes"))
    return count


def stored_options(options: SsdOptions | FasterRcnnOptions, size: ImageSize) -> Pairs:
    return (*as_pairs(options), ("resizing", size.rule))
