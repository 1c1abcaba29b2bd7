"""The table of causes: what `explain` looks for. To add one, write its file and add its line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.explain.causes import (
    already_at_target,
    array_copied,
    bad_boxes,
    batched_twice,
    cache_lock_stale,
    cache_too_large,
    callback_blocked,
    callback_raised,
    cardinality_changes,
    checkpoint_torn,
    class_id_out_of_range,
    corrupt_record,
    cpu_oversubscribed,
    data_silently_dropped,
    dataset_empty,
    dataset_exhausted,
    dataset_smaller_than_batch,
    deadlock,
    device_memory_exhausted,
    device_memory_fragmented,
    device_memory_held_by_others,
    disk_full,
    download_blocked,
    eager_execution,
    early_stopping,
    epoch_never_ends,
    evaluation_accumulates,
    exit_hang,
    file_locked,
    filter_never_passes,
    fork_deadlock,
    generator_exhausted,
    generator_not_thread_safe,
    gpu_not_used,
    half_precision_overflow,
    host_rebooted,
    illegal_instruction,
    input_blocked,
    input_not_finite,
    input_scale_mismatch,
    input_starved,
    killed_for_memory,
    killed_from_outside,
    larger_sample_than_before,
    learning_rate_collapsed,
    learning_rate_too_high,
    loader_swallows_errors,
    loss_not_falling,
    loss_not_finite,
    loss_singular,
    memory_leak,
    memory_refused,
    mixed_image_sizes,
    model_rebuilt,
    monitor_missing,
    native_crash,
    no_positive_anchors,
    nothing_trainable,
    output_pipe_full,
    path_missing,
    peer_missing,
    permission_denied,
    preempted,
    prefetch_too_deep,
    process_suspended,
    recompiling,
    resume_lost_state,
    retracing,
    script_error,
    shared_memory_full,
    shuffle_buffer_too_large,
    shuffle_refill_pause,
    silent_but_moving,
    stopped_by_callback,
    stopped_on_nan,
    storage_slow,
    swapping,
    terminal_signal,
    thread_limit,
    too_many_open_files,
    undecodable_image,
    uneven_batches,
    validation_never_ends,
    waiting_for_a_person,
    worker_died,
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
    Cause("input-blocked", "supply of data", input_blocked.input_blocked, input_blocked.PAGE),
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
    Cause("stopped-on-nan", "control flow", stopped_on_nan.stopped_on_nan, stopped_on_nan.PAGE),
    Cause("callback-raised", "control flow", callback_raised.callback_raised, callback_raised.PAGE),
    Cause("callback-blocked", "control flow", callback_blocked.callback_blocked, callback_blocked.PAGE),
    Cause(
        "waiting-for-a-person",
        "control flow",
        waiting_for_a_person.waiting_for_a_person,
        waiting_for_a_person.PAGE,
    ),
    Cause("already-at-target", "control flow", already_at_target.already_at_target, already_at_target.PAGE),
    Cause("monitor-missing", "control flow", monitor_missing.monitor_missing, monitor_missing.PAGE),
    Cause(
        "learning-rate-collapsed",
        "control flow",
        learning_rate_collapsed.learning_rate_collapsed,
        learning_rate_collapsed.PAGE,
    ),
    Cause("nothing-trainable", "control flow", nothing_trainable.nothing_trainable, nothing_trainable.PAGE),
    Cause("resume-lost-state", "control flow", resume_lost_state.resume_lost_state, resume_lost_state.PAGE),
    Cause("silent-but-moving", "control flow", silent_but_moving.silent_but_moving, silent_but_moving.PAGE),
    # numerics
    Cause(
        "learning-rate-too-high",
        "numerics",
        learning_rate_too_high.learning_rate_too_high,
        learning_rate_too_high.PAGE,
    ),
    Cause("loss-singular", "numerics", loss_singular.loss_singular, loss_singular.PAGE),
    Cause(
        "half-precision-overflow",
        "numerics",
        half_precision_overflow.half_precision_overflow,
        half_precision_overflow.PAGE,
    ),
    Cause("loss-not-finite", "numerics", loss_not_finite.loss_not_finite, loss_not_finite.PAGE),
    Cause("loss-not-falling", "numerics", loss_not_falling.loss_not_falling, loss_not_falling.PAGE),
    # storage
    Cause("disk-full", "storage", disk_full.disk_full, disk_full.PAGE),
    Cause("checkpoint-torn", "storage", checkpoint_torn.checkpoint_torn, checkpoint_torn.PAGE),
    Cause("cache-lock-stale", "storage", cache_lock_stale.cache_lock_stale, cache_lock_stale.PAGE),
    Cause("file-locked", "storage", file_locked.file_locked, file_locked.PAGE),
    Cause(
        "too-many-open-files", "storage", too_many_open_files.too_many_open_files, too_many_open_files.PAGE
    ),
    Cause("path-missing", "storage", path_missing.path_missing, path_missing.PAGE),
    Cause("permission-denied", "storage", permission_denied.permission_denied, permission_denied.PAGE),
    # processes and threads
    Cause("worker-died", "processes and threads", worker_died.worker_died, worker_died.PAGE),
    Cause("fork-deadlock", "processes and threads", fork_deadlock.fork_deadlock, fork_deadlock.PAGE),
    Cause("deadlock", "processes and threads", deadlock.deadlock, deadlock.PAGE),
    Cause(
        "shared-memory-full",
        "processes and threads",
        shared_memory_full.shared_memory_full,
        shared_memory_full.PAGE,
    ),
    Cause(
        "output-pipe-full", "processes and threads", output_pipe_full.output_pipe_full, output_pipe_full.PAGE
    ),
    Cause(
        "loader-swallows-errors",
        "processes and threads",
        loader_swallows_errors.loader_swallows_errors,
        loader_swallows_errors.PAGE,
    ),
    Cause(
        "generator-not-thread-safe",
        "processes and threads",
        generator_not_thread_safe.generator_not_thread_safe,
        generator_not_thread_safe.PAGE,
    ),
    Cause("native-crash", "processes and threads", native_crash.native_crash, native_crash.PAGE),
    Cause("thread-limit", "processes and threads", thread_limit.thread_limit, thread_limit.PAGE),
    Cause(
        "cpu-oversubscribed",
        "processes and threads",
        cpu_oversubscribed.cpu_oversubscribed,
        cpu_oversubscribed.PAGE,
    ),
    Cause(
        "process-suspended",
        "processes and threads",
        process_suspended.process_suspended,
        process_suspended.PAGE,
    ),
    Cause("terminal-signal", "processes and threads", terminal_signal.terminal_signal, terminal_signal.PAGE),
    Cause("exit-hang", "processes and threads", exit_hang.exit_hang, exit_hang.PAGE),
    # environment, several machines
    Cause("script-error", "environment, several machines", script_error.script_error, script_error.PAGE),
    Cause("gpu-not-used", "environment, several machines", gpu_not_used.gpu_not_used, gpu_not_used.PAGE),
    Cause(
        "eager-execution",
        "environment, several machines",
        eager_execution.eager_execution,
        eager_execution.PAGE,
    ),
    Cause("recompiling", "environment, several machines", recompiling.recompiling, recompiling.PAGE),
    Cause(
        "illegal-instruction",
        "environment, several machines",
        illegal_instruction.illegal_instruction,
        illegal_instruction.PAGE,
    ),
    Cause(
        "download-blocked",
        "environment, several machines",
        download_blocked.download_blocked,
        download_blocked.PAGE,
    ),
    Cause("preempted", "environment, several machines", preempted.preempted, preempted.PAGE),
    Cause("host-rebooted", "environment, several machines", host_rebooted.host_rebooted, host_rebooted.PAGE),
    Cause("peer-missing", "environment, several machines", peer_missing.peer_missing, peer_missing.PAGE),
    Cause(
        "uneven-batches", "environment, several machines", uneven_batches.uneven_batches, uneven_batches.PAGE
    ),
)

BY_SLUG = {cause.slug: cause for cause in CAUSES}
