"""What this process may use: cores, and memory under the tightest limit of the machine or its containers.

Roots are arguments, so that any machine can be told in a test.
"""

from __future__ import annotations

import os
from pathlib import Path

UNLIMITED = 1 << 60  # cgroup v1 says "no limit" with a number near 2^63
V1_LIMIT, V1_USED = "memory.limit_in_bytes", "memory.usage_in_bytes"
V2_LIMIT, V2_USED = "memory.max", "memory.current"


def usable_cores(root: Path = Path("/")) -> int:
    """Cores that this process may run on, less what a container's quota takes; at least one."""
    cores = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    for folder in _groups(root, "cpu"):
        quota = _quota(folder)
        cores = min(cores, quota) if quota else cores
    return max(1, int(cores + 0.5))


def _quota(folder: Path) -> float | None:
    v2 = _words(folder / "cpu.max")
    if len(v2) == 2 and v2[0].isdigit() and int(v2[1]) > 0:
        return int(v2[0]) / int(v2[1])
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota / period if quota and period and quota > 0 else None


def free_memory_bytes(root: Path = Path("/")) -> int:
    """What can still be taken: the least of the machine's available memory and each container limit's rest.

    File pages that the kernel would give back count as free, as they do for the machine itself.
    """
    free = _available(root)
    for folder in _groups(root, "memory"):
        rest = _rest(folder, V2_LIMIT, V2_USED, "inactive_file")
        rest = rest if rest is not None else _rest(folder, V1_LIMIT, V1_USED, "total_inactive_file")
        free = min(free, rest) if rest is not None else free
    return max(0, free)


def _rest(folder: Path, limit_name: str, used_name: str, reclaimable_name: str) -> int | None:
    limit, used = _number(folder / limit_name), _number(folder / used_name)
    if limit is None or used is None or limit >= UNLIMITED:
        return None
    words = _words(folder / "memory.stat")
    counters = dict(zip(words[::2], words[1::2], strict=False))
    return limit - used + int(counters.get(reclaimable_name, 0))


def _available(root: Path) -> int:
    words = _words(root / "proc/meminfo")
    if "MemAvailable:" not in words:
        return UNLIMITED
    return int(words[words.index("MemAvailable:") + 1]) * 1024


def _groups(root: Path, controller: str) -> list[Path]:
    """The folders of this process's control group and of all above it, in version 1 and 2.

    Inside a container the path that /proc names often is not mounted; its own root then holds the limits.
    """
    folders = []
    for line in _lines(root / "proc/self/cgroup"):
        _, names, path = [*line.split(":", 2), "", ""][:3]
        if names == "":
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
        elif controller in names.split(","):
            tops = [root / "sys/fs/cgroup" / controller, root / "sys/fs/cgroup" / names]
        else:
            continue
        for top in tops:
            parts = [part for part in path.split("/") if part not in ("", "..")]
            folders += [top.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1)]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    return " ".join(_lines(path)).split()


def _number(path: Path) -> int | None:
    words = _words(path)
    return int(words[0]) if words and words[0].lstrip("-").isdigit() else None
