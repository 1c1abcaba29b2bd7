"""What this process may use: cores, and memory under the tightest limit of the machine or its containers.

`root` is an argument, so that a test can describe any machine by its files.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.host import cgroup, procfs

_UNKNOWN = 1 << 60  # where the machine does not say how much memory is available


def usable_cores(root: Path = Path("/")) -> int:
    """Cores that this process may run on, or its container's CPU quota where that is less; at least one."""
    cores = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    quota = cgroup.cpu_quota(_own_group(root))
    return max(1, int(min(cores, quota or cores) + 0.5))


def free_memory_bytes(root: Path = Path("/"), *, group: cgroup.ControlGroup | None = None) -> int:
    """What can still be allocated: the least of the machine's available memory and what is left of each limit.

    `group` is that of another process; ours if None. Page cache that the kernel would reclaim counts as free, as it
    does for the machine itself.
    """
    available = _meminfo(root).get("MemAvailable", _UNKNOWN)
    left = cgroup.memory_headroom_bytes(group or _own_group(root))
    return max(0, available if left is None else min(available, left))


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """The tightest of the machine's memory and the limits of the containers around this process."""
    limits = [_meminfo(root).get("MemTotal"), cgroup.memory_limit_bytes(_own_group(root))]
    return min((limit for limit in limits if limit is not None), default=None)


def _own_group(root: Path) -> cgroup.ControlGroup:
    return cgroup.find(proc=root / "proc", root=root / "sys/fs/cgroup")


def _meminfo(root: Path) -> dict[str, int]:
    return procfs.keyed(procfs.read(str(root / "proc/meminfo")))
