"""What a pipeline.config decides about a network's arithmetic, apart from its weights, classes and input.

The defaults are those of the API's message definitions or, where these have none, of its published configurations.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar

Pairs = tuple[tuple[str, Any], ...]
Options = TypeVar("Options", "SsdOptions", "FasterRcnnOptions")


@dataclass(frozen=True, slots=True)
class SsdOptions:
    """SSD with extra levels, or with a feature pyramid where `pyramid` is true."""

    pyramid: bool = False
    # layers: of the backbone, of what is added to it, of the predictors
    base_activation: str = "relu6"
    base_epsilon: float = 1e-3
    activation: str = "relu6"
    epsilon: float = 1e-3
    batch_norm: bool = True
    separable: bool = False
    min_level: int = 3
    max_level: int = 7
    pyramid_channels: int = 256
    head_channels: int = 256
    head_layers: int = 4
    head_kernel: int = 3
    head_separable: bool = False
    head_activation: str = "relu6"
    head_epsilon: float = 1e-3
    head_batch_norm: bool = True
    head_dropout: bool = False  # it does nothing here, but a checkpoint counts it as a layer
    shared_tower: bool = False
    class_bias: float = -4.6
    # anchors: (scale, width over height) of each anchor of each level, or a pyramid's scale, ratios and octave steps
    level_anchors: tuple[tuple[tuple[float, float], ...], ...] = ()
    anchor_base: tuple[float, float] = (1.0, 1.0)
    anchor_scale: float = 4.0
    ratios: tuple[float, ...] = (1.0, 2.0, 0.5)
    octave_scales: int = 2
    box_scales: tuple[float, ...] = (10.0, 10.0, 5.0, 5.0)  # y, x, height, width
    # training
    matched_from: float = 0.5
    unmatched_below: float = 0.5
    forced: bool = True
    alpha: float = 0.25
    gamma: float = 2.0
    huber_delta: float = 1.0
    class_weight: float = 1.0
    box_weight: float = 1.0
    per_code: bool = False  # the box loss is divided by the four numbers of a box
    # detection
    score_above: float = 0.0
    overlap_above: float = 0.6
    most_per_class: int = 100
    most: int = 100


@dataclass(frozen=True, slots=True)
class FasterRcnnOptions:
    """Two stages on one feature map of stride 16; the last blocks of the backbone look at each region."""

    base_activation: str = "relu"
    base_epsilon: float = 1e-5
    anchor_scales: tuple[float, ...] = (0.5, 1.0, 2.0)
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0)
    anchor_base: tuple[float, float] = (256.0, 256.0)  # height, width
    anchor_stride: tuple[float, float] = (16.0, 16.0)
    anchor_offset: tuple[float, float] = (0.0, 0.0)
    clip_anchors: bool = False
    rpn_channels: int = 512
    rpn_kernel: int = 3
    rpn_dilation: int = 1
    rpn_batch: int = 256
    rpn_positive_share: float = 0.5
    rpn_score_above: float = 0.0
    rpn_overlap_above: float = 0.7
    proposals: int = 300
    rpn_box_weight: float = 1.0
    rpn_class_weight: float = 1.0
    crop: int = 14
    pool: int = 2
    pool_stride: int = 2
    shared_boxes: bool = False  # one box for all classes of a region
    box_scales: tuple[float, ...] = (10.0, 10.0, 5.0, 5.0)
    region_batch: int = 64
    region_positive_share: float = 0.25
    class_weight: float = 1.0
    box_weight: float = 1.0
    score_above: float = 0.0
    overlap_above: float = 0.6
    most_per_class: int = 100
    most: int = 300


def as_pairs(options: SsdOptions | FasterRcnnOptions) -> Pairs:
    """In a form that can be stored, compared and hashed."""
    return tuple((one.name, getattr(options, one.name)) for one in dataclasses.fields(options))


def from_pairs(kind: type[Options], pairs: Pairs) -> Options:
    """Names that this version does not know are left out."""
    known = {one.name for one in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in pairs if name in known})


def ssd_options(detector: str, backbone: str, pairs: Pairs) -> SsdOptions:
    """The stored options; where there are none, as for a memory estimate, those of the published configurations."""
    if pairs:
        return from_pairs(SsdOptions, pairs)
    if detector == "ssd":
        ratios = (1.0, 2.0, 0.5, 3.0, 0.3333, 1.0)
        levels = tuple(tuple((0.2 + 0.15 * level, ratio) for ratio in ratios) for level in range(6))
        return SsdOptions(level_anchors=(levels[0][:3], *levels[1:]), head_kernel=1)
    if backbone == "mobilenet_v2":
        return SsdOptions(
            pyramid=True,
            separable=True,
            pyramid_channels=128,
            head_channels=128,
            head_separable=True,
            shared_tower=True,
        )
    return SsdOptions(pyramid=True)
