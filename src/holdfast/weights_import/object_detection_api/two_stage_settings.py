"""Faster R-CNN of a pipeline.config, on one feature map."""

from __future__ import annotations

from holdfast.detectors.object_detection_api.api_options import FasterRcnnOptions
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


def two_stages(rcnn: Section, backbone: str) -> ModelSettings:
    size = image_size(rcnn.section("image_resizer"))
    require(rcnn, "number_of_stages", 2, rcnn.whole("number_of_stages", 2), "it has another number of stages")
    generator = rcnn.section("first_stage_anchor_generator")
    if not generator.has("grid_anchor_generator"):
        raise NotOurs("its anchors lie on several maps", rcnn.line_of("first_stage_anchor_generator"))
    grid = generator.section("grid_anchor_generator")
    decay, layers = hyperparams(rcnn.section("first_stage_box_predictor_conv_hyperparams"))
    if layers["batch_norm"]:
        raise NotOurs(
            "its region proposals are normalised", rcnn.line_of("first_stage_box_predictor_conv_hyperparams")
        )
    if (
        rcnn.has("hard_example_miner")
        or rcnn.has("context_config")
        or rcnn.has("second_stage_classification_loss")
    ):
        raise NotOurs(
            "it is trained on mined examples, with context, or by another loss",
            rcnn.line_of("hard_example_miner"),
        )
    head = rcnn.section("second_stage_box_predictor").section("mask_rcnn_box_predictor")
    for name in ("use_dropout", "predict_instance_masks", "predict_keypoints"):
        require(head, name, False, head.flag(name, False), "it has dropout or predicts more than boxes")
    hyperparams(head.section("fc_hyperparams"))
    options = FasterRcnnOptions(
        anchor_scales=grid.singles("scales") or (0.5, 1.0, 2.0),
        ratios=grid.singles("aspect_ratios") or (0.5, 1.0, 2.0),
        anchor_base=(grid.number("height", 256), grid.number("width", 256)),
        anchor_stride=(grid.number("height_stride", 16), grid.number("width_stride", 16)),
        anchor_offset=(grid.number("height_offset", 0), grid.number("width_offset", 0)),
        clip_anchors=rcnn.flag("clip_anchors_to_image", False),
        rpn_channels=rcnn.whole("first_stage_box_predictor_depth", 512),
        rpn_kernel=rcnn.whole("first_stage_box_predictor_kernel_size", 3),
        rpn_dilation=rcnn.whole("first_stage_atrous_rate", 1),
        rpn_batch=rcnn.whole("first_stage_minibatch_size", 256),
        rpn_positive_share=rcnn.number("first_stage_positive_balance_fraction", 0.5),
        rpn_score_above=rcnn.number("first_stage_nms_score_threshold", 0.0),
        rpn_overlap_above=rcnn.number("first_stage_nms_iou_threshold", 0.7),
        proposals=rcnn.whole("first_stage_max_proposals", 300),
        rpn_box_weight=rcnn.number("first_stage_localization_loss_weight", 1.0),
        rpn_class_weight=rcnn.number("first_stage_objectness_loss_weight", 1.0),
        crop=rcnn.whole("initial_crop_size", 14), pool=rcnn.whole("maxpool_kernel_size", 2),
        pool_stride=rcnn.whole("maxpool_stride", 2), shared_boxes=head.flag("share_box_across_classes", False),
        region_batch=rcnn.whole("second_stage_batch_size", 64),
        region_positive_share=rcnn.number("second_stage_balance_fraction", 0.25),
        class_weight=rcnn.number("second_stage_classification_loss_weight", 1.0),
        box_weight=rcnn.number("second_stage_localization_loss_weight", 1.0),
        **suppression(rcnn.section("second_stage_post_processing"), "SOFTMAX"),
    )  # fmt: skip
    extractor = rcnn.section("feature_extractor")
    stride = extractor.whole("first_stage_features_stride", 16)
    require(extractor, "first_stage_features_stride", 16, stride, "its features are of another stride")
    return ModelSettings(
        "faster-rcnn", backbone, class_count(rcnn), size, stored_options(options, size), decay
    )
