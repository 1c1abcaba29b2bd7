"""Causes in the memory of the host."""

from __future__ import annotations

from holdfast.explain.causes.memory import (
    array_copied,
    batched_twice,
    cache_too_large,
    evaluation_accumulates,
    killed_for_memory,
    killed_from_outside,
    memory_leak,
    memory_refused,
    model_rebuilt,
    prefetch_too_deep,
    retracing,
    shuffle_buffer_too_large,
    swapping,
    worker_memory_grows,
)

#: The specific before the general: among equals the earlier one is named first.
CAUSES = (
    killed_for_memory.killed_for_memory,
    killed_from_outside.killed_from_outside,
    memory_refused.memory_refused,
    shuffle_buffer_too_large.shuffle_buffer_too_large,
    cache_too_large.cache_too_large,
    prefetch_too_deep.prefetch_too_deep,
    batched_twice.batched_twice,
    array_copied.array_copied,
    memory_leak.memory_leak,
    retracing.retracing,
    model_rebuilt.model_rebuilt,
    evaluation_accumulates.evaluation_accumulates,
    worker_memory_grows.worker_memory_grows,
    swapping.swapping,
)
