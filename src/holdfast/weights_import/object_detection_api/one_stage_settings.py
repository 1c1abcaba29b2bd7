"""SSD of a pipeline.config, with extra levels or a feature pyramid."""

from __future__ import annotations

from typing import Any

from holdfast.detectors.object_detection_api.api_options import SsdOptions
from holdfast.weights_import.object_detection_api.config_sections import Section
from holdfast.weights_import.object_detection_api.image_size import image_size
from holdfast.weights_import.object_detection_api.network_parts import (
    ModelSettings,
    NotOurs,
    class_count,
    hyperparams,
    require,
    stored_options,
    suppression,
)

_DROPOUT = "the dropout before the predictor is left out: it changes training alone"


def one_stage(ssd: Section, detector: str, backbone: str) -> ModelSettings:
    extractor = ssd.section("feature_extractor")
    pyramid = detector == "retinanet"
    size = image_size(ssd.section("image_resizer"))
    for name, allowed in (("depth_multiplier", 1.0), ("pad_to_multiple", 1)):
        require(
            extractor,
            name,
            allowed,
            extractor.number(name, allowed),
            "networks of other widths are not built",
        )
    require(
        extractor,
        "use_explicit_padding",
        False,
        extractor.flag("use_explicit_padding", False),
        "padding differs",
    )
    require(
        ssd,
        "add_background_class",
        True,
        ssd.flag("add_background_class", True),
        "a class fewer is not built",
    )
    background = ssd.flag("encode_background_as_zeros", False)
    require(ssd, "encode_background_as_zeros", True, background, "the background is a class of a softmax")
    own, layers = hyperparams(extractor.section("conv_hyperparams"))
    overrides = extractor.flag("override_base_feature_extractor_hyperparams", False)
    activation, epsilon = ("relu6", 1e-3) if backbone == "mobilenet_v2" else ("relu", 1e-5)
    least = extractor.whole("min_depth", 16)
    values: dict[str, Any] = {
        "pyramid": pyramid,
        "base_activation": layers["activation"] if overrides else activation,
        "base_epsilon": layers["epsilon"] if overrides else epsilon,
        **layers,
        "separable": extractor.flag("use_depthwise", False),
        **_box_coder(ssd.section("box_coder")), **_matching(ssd.section("matcher")), **_losses(ssd),
        **suppression(ssd.section("post_processing"), "SIGMOID"),
    }  # fmt: skip
    if pyramid:
        values |= _pyramid_levels(extractor.section("fpn"), backbone, least)
    anchors = _pyramid_anchors(ssd, values) if pyramid else _level_anchors(ssd)
    values |= anchors | _predictor(ssd.section("box_predictor"), pyramid)
    _freeze_is_known(ssd)
    ssd.section("similarity_calculator").section("iou_similarity")
    return ModelSettings(
        detector, backbone, class_count(ssd), size, stored_options(SsdOptions(**values), size), own
    )


def _pyramid_levels(levels: Section, backbone: str, least: int) -> dict[str, Any]:
    """The API's ResNets leave these settings out and always have levels 3 to 7 of 256 channels."""
    used = {"min_level": 3, "max_level": 7, "additional_layer_depth": 256}
    for name in used:
        value = levels.whole(name, used[name])
        if not backbone.startswith("resnet"):
            used[name] = value
        elif value != used[name]:
            levels.ignored(name, f"the API's ResNet does not obey it, and is built with {used[name]}")
    values = {
        "min_level": used["min_level"], "max_level": used["max_level"],
        "pyramid_channels": max(used["additional_layer_depth"], least),
    }  # fmt: skip
    _levels_exist(levels, values)
    return values


def _levels_exist(levels: Section, values: dict[str, Any]) -> None:
    require(
        levels,
        "min_level",
        True,
        values["min_level"] in (2, 3, 4, 5),
        "the pyramid starts at no level of the backbone",
    )
    require(
        levels,
        "max_level",
        True,
        5 <= int(str(values["max_level"])) <= 8,
        "the pyramid ends at another level",
    )


def _box_coder(coder: Section) -> dict[str, Any]:
    if not coder.has("faster_rcnn_box_coder"):
        raise NotOurs("its boxes are coded in another way than Faster R-CNN's", 0)
    inner = coder.section("faster_rcnn_box_coder")
    names = (("y_scale", 10.0), ("x_scale", 10.0), ("height_scale", 5.0), ("width_scale", 5.0))
    return {"box_scales": tuple(inner.number(name, value) for name, value in names)}


def _matching(matcher: Section) -> dict[str, Any]:
    if not matcher.has("argmax_matcher"):
        raise NotOurs("its boxes are matched in another way", 0)
    inner = matcher.section("argmax_matcher")
    lower = inner.flag("negatives_lower_than_unmatched", True)
    require(
        inner,
        "negatives_lower_than_unmatched",
        True,
        lower,
        "the anchors between the thresholds are background",
    )
    return {
        "matched_from": inner.number("matched_threshold", 0.5),
        "unmatched_below": inner.number("unmatched_threshold", 0.5),
        "forced": inner.flag("force_match_for_each_row", False),
    }


def _losses(ssd: Section) -> dict[str, Any]:
    loss = ssd.section("loss")
    classes, boxes = loss.section("classification_loss"), loss.section("localization_loss")
    if not classes.has("weighted_sigmoid_focal"):
        raise NotOurs("its classes are not trained by the focal loss", loss.line_of("classification_loss"))
    if not boxes.has("weighted_smooth_l1"):
        raise NotOurs("its boxes are not trained by smooth L1", loss.line_of("localization_loss"))
    focal = classes.section("weighted_sigmoid_focal")
    by_matches = ssd.flag("normalize_loss_by_num_matches", True)
    require(
        ssd,
        "normalize_loss_by_num_matches",
        True,
        by_matches,
        "losses are sums, not divided by the matched anchors",
    )
    doubled = 1.0 if focal.has("alpha") else 2.0  # without an alpha both sides count fully: 2 x 0.5
    return {
        "alpha": focal.number("alpha", 0.5), "gamma": focal.number("gamma", 2.0),
        "huber_delta": boxes.section("weighted_smooth_l1").number("delta", 1.0),
        "class_weight": doubled * loss.number("classification_weight", 1.0),
        "box_weight": loss.number("localization_weight", 1.0),
        "per_code": ssd.flag("normalize_loc_loss_by_codesize", False),
    }  # fmt: skip


def _pyramid_anchors(ssd: Section, values: dict[str, Any]) -> dict[str, Any]:
    generator = ssd.section("anchor_generator")
    if not generator.has("multiscale_anchor_generator"):
        raise NotOurs("the anchors of a pyramid are made in another way", ssd.line_of("anchor_generator"))
    inner = generator.section("multiscale_anchor_generator")
    for name in ("min_level", "max_level"):
        require(
            inner,
            name,
            values[name],
            inner.whole(name, 3 if name == "min_level" else 7),
            "levels without anchors",
        )
    require(
        inner,
        "normalize_coordinates",
        True,
        inner.flag("normalize_coordinates", True),
        "anchors are in pixels",
    )
    return {
        "anchor_scale": inner.single("anchor_scale", 4.0), "ratios": inner.singles("aspect_ratios"),
        "octave_scales": inner.whole("scales_per_octave", 2),
    }  # fmt: skip


def _level_anchors(ssd: Section) -> dict[str, Any]:
    generator = ssd.section("anchor_generator")
    if not generator.has("ssd_anchor_generator"):
        raise NotOurs("SSD's anchors are made in another way", ssd.line_of("anchor_generator"))
    inner = generator.section("ssd_anchor_generator")
    for name in ("height_stride", "width_stride", "height_offset", "width_offset"):
        require(inner, name, (), inner.numbers(name), "anchors lie on a grid of their own")
    count = inner.whole("num_layers", 6)
    layers = ssd.section("feature_extractor").whole("num_layers", 6)
    require(ssd.section("feature_extractor"), "num_layers", count, layers, "levels without anchors")
    require(inner, "num_layers", True, 2 <= count <= 6, "SSD has two to six levels")
    low, high = inner.single("min_scale", 0.2), inner.single("max_scale", 0.95)
    scales = [*(inner.singles("scales") or [low + (high - low) * i / (count - 1) for i in range(count)]), 1.0]
    between = inner.single("interpolated_scale_aspect_ratio", 1.0)
    ratios = inner.singles("aspect_ratios")
    levels = []
    for level in range(count):
        anchors = [(scales[level], ratio) for ratio in ratios]
        if between > 0:
            anchors.append(((scales[level] * scales[level + 1]) ** 0.5, between))
        levels.append(tuple(anchors))
    if inner.flag("reduce_boxes_in_lowest_layer", True):
        levels[0] = ((0.1, 1.0), (scales[0], 2.0), (scales[0], 0.5))
    base = (inner.single("base_anchor_height", 1.0), inner.single("base_anchor_width", 1.0))
    return {"level_anchors": tuple(levels), "anchor_base": base}


def _predictor(predictor: Section, pyramid: bool) -> dict[str, Any]:
    name = "weight_shared_convolutional_box_predictor" if pyramid else "convolutional_box_predictor"
    if not predictor.has(name):
        raise NotOurs(f"its predictor is no {name}", 0)
    inner = predictor.section(name)
    require(inner, "box_code_size", 4, inner.whole("box_code_size", 4), "a box has other than four numbers")
    dropout = inner.flag("use_dropout", not pyramid)  # SSD's predictor has it unless it is turned off
    if dropout:
        inner.dropped("use_dropout" if inner.has("use_dropout") else "conv_hyperparams", _DROPOUT)
    if inner.has("score_converter") or inner.flag("apply_sigmoid_to_scores", False):
        raise NotOurs("its predictor converts scores itself", inner.line_of("apply_sigmoid_to_scores"))
    _, layers = hyperparams(inner.section("conv_hyperparams"))
    before = inner.whole("num_layers_before_predictor", 0)
    if not pyramid:
        require(
            inner,
            "num_layers_before_predictor",
            True,
            before == 0 or inner.whole("max_depth", 0) == 0,
            "layers before the predictor",
        )
        inner.ignored("min_depth", "there are no layers before the predictor")
        inner.ignored("max_depth", "there are no layers before the predictor")
    return {
        "head_channels": inner.whole("depth", 0) if pyramid else 0, "head_layers": before,
        "head_kernel": inner.whole("kernel_size", 3 if pyramid else 1),
        "head_separable": inner.flag("use_depthwise", False),
        "shared_tower": pyramid and inner.flag("share_prediction_tower", False),
        "class_bias": inner.number("class_prediction_bias_init", 0.0),
        "head_activation": layers["activation"], "head_epsilon": layers["epsilon"],
        "head_batch_norm": layers["batch_norm"], "head_dropout": dropout,
    }  # fmt: skip


def _freeze_is_known(ssd: Section) -> None:
    if ssd.has("freeze_batchnorm"):
        line = ssd.message.all("freeze_batchnorm")[-1]
        if not ssd.flag("freeze_batchnorm", False):
            ssd.ledger.read.discard(id(line))  # reported: statistics stay frozen here
