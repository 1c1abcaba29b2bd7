"""The table of causes: what `explain` looks for. To add one, write its file and add its line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.explain.causes import (
    array_copied,
    bad_boxes,
    batched_twice,
    cache_too_large,
    cardinality_changes,
    class_id_out_of_range,
    corrupt_record,
    data_silently_dropped,
    dataset_empty,
    dataset_exhausted,
    dataset_smaller_than_batch,
    device_memory_exhausted,
    device_memory_fragmented,
    device_memory_held_by_others,
    early_stopping,
    epoch_never_ends,
    evaluation_accumulates,
    filter_never_passes,
    generator_exhausted,
    input_not_finite,
    input_scale_mismatch,
    input_starved,
    killed_for_memory,
    killed_from_outside,
    larger_sample_than_before,
    memory_leak,
    memory_refused,
    mixed_image_sizes,
    model_rebuilt,
    no_positive_anchors,
    preempted,
    prefetch_too_deep,
    retracing,
    script_error,
    shuffle_buffer_too_large,
    shuffle_refill_pause,
    stopped_by_callback,
    storage_slow,
    swapping,
    terminal_signal,
    undecodable_image,
    validation_never_ends,
    worker_memory_grows,
    wrong_channels,
)
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Finding, RuledOut


@dataclass(frozen=True, slots=True)
class Cause:
    slug: str
    group: str
    judge: Callable[[Evidence], Finding | RuledOut | None]
    page: str

    @property
    def brief(self) -> str:
        """One line: what it is."""
        import sys

        return (sys.modules[self.judge.__module__].__doc__ or "").strip()


#: In each group the specific before the general: among equals the earlier one is named first.
CAUSES: tuple[Cause, ...] = (
    # memory of the host
    Cause(
        "killed-for-memory", "memory of the host", killed_for_memory.killed_for_memory, killed_for_memory.PAGE
    ),
    Cause(
        "killed-from-outside",
        "memory of the host",
        killed_from_outside.killed_from_outside,
        killed_from_outside.PAGE,
    ),
    Cause("memory-refused", "memory of the host", memory_refused.memory_refused, memory_refused.PAGE),
    Cause(
        "shuffle-buffer-too-large",
        "memory of the host",
        shuffle_buffer_too_large.shuffle_buffer_too_large,
        shuffle_buffer_too_large.PAGE,
    ),
    Cause("cache-too-large", "memory of the host", cache_too_large.cache_too_large, cache_too_large.PAGE),
    Cause(
        "prefetch-too-deep", "memory of the host", prefetch_too_deep.prefetch_too_deep, prefetch_too_deep.PAGE
    ),
    Cause("batched-twice", "memory of the host", batched_twice.batched_twice, batched_twice.PAGE),
    Cause("array-copied", "memory of the host", array_copied.array_copied, array_copied.PAGE),
    Cause("memory-leak", "memory of the host", memory_leak.memory_leak, memory_leak.PAGE),
    Cause("retracing", "memory of the host", retracing.retracing, retracing.PAGE),
    Cause("model-rebuilt", "memory of the host", model_rebuilt.model_rebuilt, model_rebuilt.PAGE),
    Cause(
        "evaluation-accumulates",
        "memory of the host",
        evaluation_accumulates.evaluation_accumulates,
        evaluation_accumulates.PAGE,
    ),
    Cause(
        "worker-memory-grows",
        "memory of the host",
        worker_memory_grows.worker_memory_grows,
        worker_memory_grows.PAGE,
    ),
    Cause("swapping", "memory of the host", swapping.swapping, swapping.PAGE),
    # memory of the device
    Cause(
        "device-memory-exhausted",
        "memory of the device",
        device_memory_exhausted.device_memory_exhausted,
        device_memory_exhausted.PAGE,
    ),
    Cause(
        "device-memory-held-by-others",
        "memory of the device",
        device_memory_held_by_others.device_memory_held_by_others,
        device_memory_held_by_others.PAGE,
    ),
    Cause(
        "device-memory-fragmented",
        "memory of the device",
        device_memory_fragmented.device_memory_fragmented,
        device_memory_fragmented.PAGE,
    ),
    Cause(
        "larger-sample-than-before",
        "memory of the device",
        larger_sample_than_before.larger_sample_than_before,
        larger_sample_than_before.PAGE,
    ),
    # supply of data
    Cause("input-starved", "supply of data", input_starved.input_starved, input_starved.PAGE),
    Cause("storage-slow", "supply of data", storage_slow.storage_slow, storage_slow.PAGE),
    Cause(
        "shuffle-refill-pause",
        "supply of data",
        shuffle_refill_pause.shuffle_refill_pause,
        shuffle_refill_pause.PAGE,
    ),
    # content of the data
    Cause("dataset-empty", "content of the data", dataset_empty.dataset_empty, dataset_empty.PAGE),
    Cause(
        "dataset-smaller-than-batch",
        "content of the data",
        dataset_smaller_than_batch.dataset_smaller_than_batch,
        dataset_smaller_than_batch.PAGE,
    ),
    Cause(
        "undecodable-image",
        "content of the data",
        undecodable_image.undecodable_image,
        undecodable_image.PAGE,
    ),
    Cause("wrong-channels", "content of the data", wrong_channels.wrong_channels, wrong_channels.PAGE),
    Cause("corrupt-record", "content of the data", corrupt_record.corrupt_record, corrupt_record.PAGE),
    Cause(
        "data-silently-dropped",
        "content of the data",
        data_silently_dropped.data_silently_dropped,
        data_silently_dropped.PAGE,
    ),
    Cause("bad-boxes", "content of the data", bad_boxes.bad_boxes, bad_boxes.PAGE),
    Cause(
        "class-id-out-of-range",
        "content of the data",
        class_id_out_of_range.class_id_out_of_range,
        class_id_out_of_range.PAGE,
    ),
    Cause(
        "no-positive-anchors",
        "content of the data",
        no_positive_anchors.no_positive_anchors,
        no_positive_anchors.PAGE,
    ),
    Cause(
        "input-not-finite", "content of the data", input_not_finite.input_not_finite, input_not_finite.PAGE
    ),
    Cause(
        "input-scale-mismatch",
        "content of the data",
        input_scale_mismatch.input_scale_mismatch,
        input_scale_mismatch.PAGE,
    ),
    Cause(
        "mixed-image-sizes",
        "content of the data",
        mixed_image_sizes.mixed_image_sizes,
        mixed_image_sizes.PAGE,
    ),
    # counting of steps and epochs
    Cause(
        "dataset-exhausted",
        "counting of steps and epochs",
        dataset_exhausted.dataset_exhausted,
        dataset_exhausted.PAGE,
    ),
    Cause(
        "generator-exhausted",
        "counting of steps and epochs",
        generator_exhausted.generator_exhausted,
        generator_exhausted.PAGE,
    ),
    Cause(
        "cardinality-changes",
        "counting of steps and epochs",
        cardinality_changes.cardinality_changes,
        cardinality_changes.PAGE,
    ),
    Cause(
        "epoch-never-ends",
        "counting of steps and epochs",
        epoch_never_ends.epoch_never_ends,
        epoch_never_ends.PAGE,
    ),
    Cause(
        "validation-never-ends",
        "counting of steps and epochs",
        validation_never_ends.validation_never_ends,
        validation_never_ends.PAGE,
    ),
    Cause(
        "filter-never-passes",
        "counting of steps and epochs",
        filter_never_passes.filter_never_passes,
        filter_never_passes.PAGE,
    ),
    # control flow
    Cause("early-stopping", "control flow", early_stopping.early_stopping, early_stopping.PAGE),
    Cause(
        "stopped-by-callback",
        "control flow",
        stopped_by_callback.stopped_by_callback,
        stopped_by_callback.PAGE,
    ),
    # processes and threads
    Cause("terminal-signal", "processes and threads", terminal_signal.terminal_signal, terminal_signal.PAGE),
    # environment, several machines
    Cause("script-error", "environment, several machines", script_error.script_error, script_error.PAGE),
    Cause("preempted", "environment, several machines", preempted.preempted, preempted.PAGE),
)

BY_SLUG = {cause.slug: cause for cause in CAUSES}
