"""The fields of a pipeline.config that Holdfast knows, and why those are not carried over that are not.

The names are those of the configurations that the API publishes. Only reasons are data here: what is carried over is
decided where it is read.
"""

from __future__ import annotations

from collections.abc import Mapping

_FROZEN = "batch normalization keeps the statistics of the checkpoint here, in training too"
_SAME = "it says how TensorFlow computes this, and the result is the same"
_TPU = "it is for TPUs and groups of replicas; `holdfast launch` trains on several hosts"
_START = "weights come from the checkpoint; fresh heads start as Holdfast's own"
_QUEUE = "it sets the API's own input queues; Holdfast sizes its own"
_EVAL = "`holdfast eval` measures AP as COCO does, and decides this itself"
_DRAWN = "it only decides what the API draws"
_MASKS = "Holdfast detects boxes: no masks, keypoints, tracks or context"

#: Ends of field paths that change neither the training nor the detections.
WITHOUT_EFFECT: dict[str, str] = {
    "inplace_batchnorm_update": _SAME,
    "use_matmul_gather": _SAME,
    "use_matmul_gather_in_matcher": _SAME,
    "use_matmul_crop_and_resize": _SAME,
    "use_static_balanced_label_sampler": _SAME,
    "use_static_shapes": _SAME,
    "use_partitioned_nms_in_first_stage": _SAME,
    "use_combined_nms": _SAME,
    "use_native_resize_op": _SAME,
    "unpad_groundtruth_tensors": _SAME,
    "max_number_of_boxes": "images have room for as many boxes as the dataset's fullest one",
    "parallel_iterations": _SAME,
    "add_summaries": _DRAWN,
    "ignore_thresholds": "the thresholds above it are used as they are",
    "sync_replicas": _TPU,
    "startup_delay_steps": _TPU,
    "replicas_to_aggregate": _TPU,
    "use_bfloat16": "the API obeys it on TPUs alone; here it is `train.precision`",
    "fine_tune_checkpoint_version": "the checkpoint itself says what it is",
    "load_all_detection_checkpoint_vars": "every weight of the checkpoint is loaded, or the import fails",
    "batch_queue_capacity": _QUEUE,
    "prefetch_queue_capacity": _QUEUE,
    "queue_capacity": _QUEUE,
    "min_after_dequeue": _QUEUE,
    "prefetch_size": _QUEUE,
    "shuffle_buffer_size": "every epoch visits all images, in an order that is shuffled as a whole",
    "shuffle": "training images are shuffled, validation images are not",
    "num_readers": _QUEUE,
    "num_parallel_batches": _QUEUE,
    "num_epochs": "a validation passes over the data once",
    "eval_config.batch_size": "it does not change the result; `holdfast eval --batch` is for speed",
    "eval_config.use_moving_averages": "with `train.ema` the averaged weights are validated",
    "num_examples": _EVAL,
    "max_evals": _EVAL,
    "metrics_set": _EVAL,
    "include_metrics_per_category": _EVAL,
    "num_visualizations": _DRAWN,
    "max_num_boxes_to_visualize": _DRAWN,
    "min_score_threshold": _DRAWN,
    "visualize_groundtruth_boxes": _DRAWN,
    "groundtruth_box_visualization_color": _DRAWN,
    "keypoint_edge": _DRAWN,
    "keep_checkpoint_every_n_hours": "it is `train.keep_checkpoints` here",
    "initializer": _START,
    "batch_norm.decay": _FROZEN,
    "batch_norm.train": _FROZEN,
    "batch_norm.center": "the shift is in the checkpoint",
    "batch_norm.scale": "the factor is in the checkpoint",
    "batch_norm_trainable": _FROZEN,
    "dropout_keep_probability": "there is no dropout to set it for",
    "op": _SAME,
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Messages whose fields are reported one by one.
MESSAGES = _words(
    """model ssd faster_rcnn train_config train_input_reader eval_input_reader eval_config num_classes
        image_resizer feature_extractor box_coder faster_rcnn_box_coder matcher argmax_matcher similarity_calculator
        iou_similarity anchor_generator ssd_anchor_generator multiscale_anchor_generator grid_anchor_generator
        first_stage_anchor_generator box_predictor convolutional_box_predictor
        weight_shared_convolutional_box_predictor mask_rcnn_box_predictor second_stage_box_predictor
        conv_hyperparams fc_hyperparams first_stage_box_predictor_conv_hyperparams batch_norm sync_batch_norm
        fpn loss classification_loss localization_loss weighted_sigmoid_focal weighted_sigmoid weighted_softmax
        weighted_smooth_l1 post_processing second_stage_post_processing batch_non_max_suppression optimizer
        momentum_optimizer rms_prop_optimizer adam_optimizer learning_rate cosine_decay_learning_rate
        manual_step_learning_rate exponential_decay_learning_rate constant_learning_rate schedule
        tf_record_input_reader data_augmentation_options fixed_shape_resizer keep_aspect_ratio_resizer
        regularizer l2_regularizer hard_example_miner parameterized_metric"""
)

#: Names of fields with the reason where nobody reads them.
KNOWN: dict[str, str] = {
    **dict.fromkeys(MESSAGES, "this part of the network is another than Holdfast's"),
    **{path.rsplit(".", 1)[-1]: "" for path in WITHOUT_EFFECT},
    **dict.fromkeys(
        _words("""batch_size num_steps input_path label_map_path fine_tune_checkpoint fine_tune_checkpoint_type
        from_detection_checkpoint gradient_clipping_by_norm use_moving_average moving_average_decay
        momentum_optimizer_value learning_rate_base total_steps warmup_learning_rate warmup_steps epsilon decay
        initial_learning_rate decay_steps decay_factor step type min_level max_level additional_layer_depth
        depth_multiplier min_depth max_depth activation weight alpha gamma delta height width min_dimension
        max_dimension pad_to_max_dimension scales aspect_ratios height_stride width_stride height_offset width_offset
        anchor_scale scales_per_octave normalize_coordinates num_layers min_scale max_scale
        reduce_boxes_in_lowest_layer interpolated_scale_aspect_ratio base_anchor_height base_anchor_width
        y_scale x_scale height_scale width_scale matched_threshold unmatched_threshold
        negatives_lower_than_unmatched force_match_for_each_row score_threshold iou_threshold
        max_detections_per_class max_total_detections score_converter depth kernel_size use_depthwise
        share_prediction_tower num_layers_before_predictor class_prediction_bias_init use_dropout box_code_size
        apply_sigmoid_to_scores encode_background_as_zeros add_background_class normalize_loss_by_num_matches
        normalize_loc_loss_by_codesize classification_weight localization_weight freeze_batchnorm
        override_base_feature_extractor_hyperparams pad_to_multiple initial_crop_size maxpool_kernel_size
        maxpool_stride share_box_across_classes clip_anchors_to_image use_explicit_padding l1_regularizer
        first_stage_nms_score_threshold first_stage_nms_iou_threshold first_stage_max_proposals
        first_stage_localization_loss_weight first_stage_objectness_loss_weight first_stage_minibatch_size
        first_stage_positive_balance_fraction first_stage_box_predictor_kernel_size first_stage_atrous_rate
        first_stage_box_predictor_depth first_stage_features_stride second_stage_localization_loss_weight
        second_stage_classification_loss_weight second_stage_batch_size second_stage_balance_fraction
        number_of_stages soft_nms_sigma resize_method convert_to_grayscale per_channel_pad_value warmup
        second_stage_classification_loss logit_scale"""),
        "Holdfast has no setting for it",
    ),
    "freeze_batchnorm": _FROZEN,
    "graph_rewriter": "quantized training has no equal here; `holdfast export --int8` quantizes a trained model",
    "freeze_variables": "parts are frozen by `train.freeze_steps` and `train.backbone_rate` here",
    "update_trainable_variables": "parts are frozen by `train.freeze_steps` and `train.backbone_rate` here",
    "bias_grad_multiplier": "biases learn at the same rate as kernels here",
    "merge_multiple_label_boxes": "each box has one class here",
    "load_instance_masks": _MASKS,
    "eval_instance_masks": _MASKS,
    "mask_type": _MASKS,
    "num_keypoints": _MASKS,
    "load_context_features": _MASKS,
    "second_stage_mask_prediction_loss_weight": _MASKS,
    "super_categories": _EVAL,
    "image_classes_field_map_empty_to_ones": _EVAL,
    "coco_keypoint_metrics": _MASKS,
    "sample_1_of_n_examples": "all images are read; convert a smaller dataset",
    "input_type": "sequences of frames are not read",
    "external_input_reader": "only TFRecords are read by the API's own reader that Holdfast knows",
    "center_net": "CenterNet is no architecture of Holdfast",
}


def reason_of(path: str, table: Mapping[str, str]) -> str:
    """The reason of the longest end of `path` that the table has."""
    parts = path.split(".")
    for start in range(len(parts)):
        reason = table.get(".".join(parts[start:]))
        if reason:
            return reason
    return "Holdfast has no setting for it"
