"""Memory in use by this process, now, at its peak and against its limit: the host's, and the device's if it has
one.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from holdfast.host import process_limits, procfs
from holdfast.train.observers.progress_text import MemoryUsage


def host_memory(root: Path = Path("/")) -> MemoryUsage:
    own = procfs.own_memory(str(root / "proc"))
    return MemoryUsage("memory", own.now_bytes, own.peak_bytes, process_limits.memory_limit_bytes(root))


def device_memory(backend: str) -> MemoryUsage | None:
    """Of the first accelerator, as its allocator counts; None on a CPU."""
    if backend == "jax":
        import jax

        found = jax.local_devices()[0]
        counted = found.memory_stats() if found.platform != "cpu" else None
        if not counted:
            return None
        return MemoryUsage(
            "device", counted["bytes_in_use"], counted["peak_bytes_in_use"], counted.get("bytes_limit")
        )
    import tensorflow as tf

    if not tf.config.list_logical_devices("GPU"):
        return None
    seen = tf.config.experimental.get_memory_info("GPU:0")
    return MemoryUsage("device", int(seen["current"]), int(seen["peak"]))


def current_usage(backend: str) -> tuple[MemoryUsage, ...]:
    on_device = None
    # Some allocators do not count, and the display must never stop a run.
    with contextlib.suppress(Exception):
        on_device = device_memory(backend)
    return (*([on_device] if on_device else []), host_memory())
