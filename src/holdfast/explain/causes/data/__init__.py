"""Causes in the supply and the content of the data."""

from __future__ import annotations

from holdfast.explain.causes.data import (
    bad_boxes,
    class_id_out_of_range,
    corrupt_record,
    data_silently_dropped,
    dataset_empty,
    dataset_smaller_than_batch,
    input_blocked,
    input_not_finite,
    input_scale_mismatch,
    input_starved,
    mixed_image_sizes,
    no_positive_anchors,
    shuffle_refill_pause,
    storage_slow,
    undecodable_image,
    wrong_channels,
)

#: The specific before the general: among equals the earlier one is named first.
CAUSES = (
    input_starved.input_starved,
    storage_slow.storage_slow,
    input_blocked.input_blocked,
    shuffle_refill_pause.shuffle_refill_pause,
    dataset_empty.dataset_empty,
    dataset_smaller_than_batch.dataset_smaller_than_batch,
    undecodable_image.undecodable_image,
    wrong_channels.wrong_channels,
    corrupt_record.corrupt_record,
    data_silently_dropped.data_silently_dropped,
    bad_boxes.bad_boxes,
    class_id_out_of_range.class_id_out_of_range,
    no_positive_anchors.no_positive_anchors,
    input_not_finite.input_not_finite,
    input_scale_mismatch.input_scale_mismatch,
    mixed_image_sizes.mixed_image_sizes,
)
