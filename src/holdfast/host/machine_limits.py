"""What the machine has and allows: memory, cores, resource limits, space on its disks, pressure."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.host import procfs

_RLIMITS = {
    "as": resource.RLIMIT_AS,
    "data": resource.RLIMIT_DATA,
    "nofile": resource.RLIMIT_NOFILE,
    "nproc": resource.RLIMIT_NPROC,
    "stack": resource.RLIMIT_STACK,
    "fsize": resource.RLIMIT_FSIZE,
    "cpu": resource.RLIMIT_CPU,
}


def memory_bytes() -> int:
    return procfs.keyed(procfs.read("/proc/meminfo")).get("MemTotal", 0)


def usable_cpus() -> int:
    return len(os.sched_getaffinity(0))


def boot_id() -> str:
    return (procfs.read("/proc/sys/kernel/random/boot_id") or b"").decode().strip()


def rlimits() -> dict[str, int | None]:
    soft = {name: resource.getrlimit(number)[0] for name, number in _RLIMITS.items()}
    return {name: None if limit == resource.RLIM_INFINITY else limit for name, limit in soft.items()}


def disks(named: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Free space for us, not for root, by what the path is used for. A path that does not exist is left out."""
    rows = []
    for what, path in named.items():
        with contextlib.suppress(OSError):
            space = os.statvfs(path)
            rows.append(
                {
                    "what": what,
                    "path": str(path),
                    "free_bytes": space.f_bavail * space.f_frsize,
                    "total_bytes": space.f_blocks * space.f_frsize,
                }
            )
    return rows


def pressure(folder: Path = Path("/proc/pressure")) -> dict[str, float]:
    """Percent of the last ten seconds in which work waited, by what it waited for (pressure stall information)."""
    shares: dict[str, float] = {}
    for what in ("memory", "io", "cpu"):
        for line in (procfs.read(str(folder / what)) or b"").decode().splitlines():
            words = line.split()
            if len(words) > 1 and words[1].startswith("avg10="):
                shares[f"{what}.{words[0]}"] = float(words[1].removeprefix("avg10="))
    return shares
