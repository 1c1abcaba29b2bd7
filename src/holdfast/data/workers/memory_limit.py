"""The memory of one worker: an image that claims to be huge then ends one process, not the machine."""

from __future__ import annotations

import contextlib
import os

from holdfast.host import procfs

MEMORY_BYTES = 3 << 30  # address space of one worker: a decoded image of 200 megapixels, twice, and the rest


def limit_memory() -> None:
    """Of this process: an image that claims to be huge then ends one worker, not the machine."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        used = _address_space()
        wanted = used + MEMORY_BYTES
        if soft == resource.RLIM_INFINITY or wanted < soft:
            resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def _address_space() -> int:
    own = procfs.stat(os.getpid())
    if own is None:
        raise OSError("/proc is not mounted")
    return own.virtual_bytes
