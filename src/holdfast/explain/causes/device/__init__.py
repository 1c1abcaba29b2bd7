"""Causes in the memory of a GPU."""

from __future__ import annotations

from holdfast.explain.causes.device import (
    device_memory_exhausted,
    device_memory_fragmented,
    device_memory_held_by_others,
    larger_sample_than_before,
)

#: The specific before the general: among equals the earlier one is named first.
CAUSES = (
    device_memory_exhausted.device_memory_exhausted,
    device_memory_held_by_others.device_memory_held_by_others,
    device_memory_fragmented.device_memory_fragmented,
    larger_sample_than_before.larger_sample_than_before,
)
