"""Memory in use by this process, now, at its peak and against its limit: the host's, and the device's if it has
one.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from holdfast.host.process_limits import V1_LIMIT, V2_LIMIT, _groups, _lines, _number, _words
from holdfast.train.observers.progress_text import MemoryUsage


def host_memory(root: Path = Path("/")) -> MemoryUsage:
    """Without the pages of files, such as libraries: they are given back when memory is short, and often not ours."""
    fields = {line.partition(":")[0]: line.split()[1:2] for line in _lines(root / "proc/self/status")}
    resident, files, highest = (
        int(fields[name][0]) * 1024 if fields.get(name) else 0 for name in ("VmRSS", "RssFile", "VmHWM")
    )
    return MemoryUsage("memory", resident - files, max(resident, highest) - files, host_memory_limit(root))


def host_memory_limit(root: Path = Path("/")) -> int | None:
    """The tightest of the machine's memory and the limits of the containers around this process."""
    words = _words(root / "proc/meminfo")
    known = [int(words[words.index("MemTotal:") + 1]) * 1024] if "MemTotal:" in words else []
    for folder in _groups(root, "memory"):
        known += [limit for name in (V1_LIMIT, V2_LIMIT) if (limit := _number(folder / name)) is not None]
    return min(known, default=None)


def device_memory(backend: str) -> MemoryUsage | None:
    """The first accelerator's, as its own allocator counts; None on a CPU."""
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
    # Some allocators do not count, and a run never ends for what is shown of it.
    with contextlib.suppress(Exception):
        on_device = device_memory(backend)
    return (*([on_device] if on_device else []), host_memory())
