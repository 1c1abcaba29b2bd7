"""Small configurations of our own, one for each architecture, in the API's text format."""

from __future__ import annotations

_LAYERS = """
  conv_hyperparams {
    activation: RELU_6
    regularizer { l2_regularizer { weight: 0.0002 } }
    batch_norm { scale: true epsilon: 0.002 }
  }
"""

_SSD = """
  num_classes: 3
  box_coder { faster_rcnn_box_coder { y_scale: 10.0 x_scale: 10.0 height_scale: 5.0 width_scale: 5.0 } }
  matcher { argmax_matcher { matched_threshold: 0.5 unmatched_threshold: 0.4 force_match_for_each_row: true } }
  similarity_calculator { iou_similarity { } }
  encode_background_as_zeros: true
  image_resizer { fixed_shape_resizer { height: 160 width: 160 } }
  loss {
    classification_loss { weighted_sigmoid_focal { alpha: 0.3 gamma: 1.5 } }
    localization_loss { weighted_smooth_l1 { delta: 0.7 } }
    classification_weight: 1.5
    localization_weight: 0.8
  }
  normalize_loc_loss_by_codesize: true
  post_processing {
    batch_non_max_suppression {
      score_threshold: 0.001 iou_threshold: 0.5 max_detections_per_class: 20 max_total_detections: 40
    }
    score_converter: SIGMOID
  }
"""

_PYRAMID = """
  anchor_generator {
    multiscale_anchor_generator {
      min_level: 3 max_level: 7 anchor_scale: 3.0 aspect_ratios: [1.0, 2.0, 0.5] scales_per_octave: 2
    }
  }
"""

TRAINING = """
train_config {
  batch_size: 8
  num_steps: 300
  gradient_clipping_by_norm: 5.0
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: .02 total_steps: 300 warmup_learning_rate: 0.0 warmup_steps: 30
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  data_augmentation_options { random_horizontal_flip { } }
}
train_input_reader {
  label_map_path: "labels.pbtxt"
  tf_record_input_reader { input_path: "train.record" }
}
eval_input_reader {
  label_map_path: "labels.pbtxt"
  tf_record_input_reader { input_path: "test.record" }
}
"""

SSD = f"""
# SSD with extra levels, and predictors that are depthwise first
model {{ ssd {{ {_SSD}
  anchor_generator {{
    ssd_anchor_generator {{
      num_layers: 4 min_scale: 0.25 max_scale: 0.9 aspect_ratios: [1.0, 2.0, 0.5] base_anchor_height: 0.9
    }}
  }}
  box_predictor {{
    convolutional_box_predictor {{ kernel_size: 3 use_depthwise: true class_prediction_bias_init: -2.0 {_LAYERS} }}
  }}
  feature_extractor {{
    type: 'ssd_mobilenet_v2_keras' use_depthwise: true {_LAYERS}
    override_base_feature_extractor_hyperparams: true
    num_layers: 4
  }}
}} }}
"""

FPNLITE = f"""
model {{ ssd {{ {_SSD} {_PYRAMID}
  box_predictor {{
    weight_shared_convolutional_box_predictor {{
      depth: 24 num_layers_before_predictor: 2 kernel_size: 3 share_prediction_tower: true use_depthwise: true
      class_prediction_bias_init: -2.0 {_LAYERS}
    }}
  }}
  feature_extractor {{
    type: "ssd_mobilenet_v2_fpn_keras" use_depthwise: true min_depth: 16
    fpn {{ min_level: 3 max_level: 7 additional_layer_depth: 24 }} {_LAYERS}
  }}
}} }}
"""

RETINANET = f"""
model {{ ssd {{ {_SSD} {_PYRAMID}
  box_predictor {{
    weight_shared_convolutional_box_predictor {{
      depth: 32 num_layers_before_predictor: 1 kernel_size: 3 class_prediction_bias_init: -2.0 {_LAYERS}
    }}
  }}
  feature_extractor {{
    type: "ssd_resnet50_v1_fpn_keras" fpn {{ min_level: 3 max_level: 7 additional_layer_depth: 32 }} {_LAYERS}
    override_base_feature_extractor_hyperparams: true
  }}
}} }}
"""

FASTER_RCNN = """
model {
  faster_rcnn {
    num_classes: 3
    image_resizer {
      keep_aspect_ratio_resizer { min_dimension: 160 max_dimension: 160 pad_to_max_dimension: true }
    }
    feature_extractor { type: 'faster_rcnn_resnet50_keras' }
    first_stage_anchor_generator {
      grid_anchor_generator { scales: [0.2, 0.5] aspect_ratios: [0.5, 1.0, 2.0] height_stride: 16 width_stride: 16 }
    }
    first_stage_box_predictor_conv_hyperparams {
      op: CONV
      regularizer { l2_regularizer { weight: 0.0 } }
    }
    first_stage_minibatch_size: 100000
    use_matmul_crop_and_resize: true
    first_stage_nms_iou_threshold: 0.6
    first_stage_max_proposals: 20
    first_stage_localization_loss_weight: 2.0
    initial_crop_size: 14
    maxpool_kernel_size: 2
    maxpool_stride: 2
    second_stage_box_predictor { mask_rcnn_box_predictor { fc_hyperparams { op: FC } } }
    second_stage_batch_size: 20
    second_stage_balance_fraction: 1.0
    second_stage_post_processing {
      batch_non_max_suppression {
        score_threshold: 0.01 iou_threshold: 0.6 max_detections_per_class: 10 max_total_detections: 30
      }
      score_converter: SOFTMAX
    }
    second_stage_localization_loss_weight: 2.0
  }
}
"""

#: Name -> the model; each with `TRAINING` is a whole configuration.
MODELS = {"ssd": SSD, "fpnlite": FPNLITE, "retinanet": RETINANET, "faster-rcnn": FASTER_RCNN}
