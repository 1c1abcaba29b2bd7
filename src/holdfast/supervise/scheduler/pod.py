"""The Kubernetes pod that this process runs in, and what can be seen from inside of why it ends.

A pod sees no reason: SIGTERM comes when it is deleted, when its node is drained, when a pod of higher priority needs
the place, when the node runs low, and when the pod has used more scratch space than it may. The last two show: in the
memory and the disks of the node, and in the size of the run and the cache. When the memory limit of a container is
exceeded, recent versions end all its processes at once, the supervisor too; the next start of the same container
finds a journal without an end.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path

from holdfast.host import procfs
from holdfast.journal.events import JobStarted, SchedulerAnswered
from holdfast.journal.vitals import Sample

SERVICE_VARIABLE, POD_VARIABLE, NODE_VARIABLE = "KUBERNETES_SERVICE_HOST", "HOLDFAST_POD", "HOLDFAST_NODE"
MESSAGE_FILE, MESSAGE_BYTES = Path("/dev/termination-log"), 4096
SCRATCH_VARIABLE = "HOLDFAST_SCRATCH_BYTES"  # the pod's limit of ephemeral storage
#: The kubelet evicts pods below these, where nobody has set others.
LEAST_MEMORY_BYTES, LEAST_INODES_SHARE = 100 << 20, 0.05
#: Of the root of a container, and of a file that the kubelet mounts into each: the name of its disk, the least share.
NODE_DISKS = {"/": ("the disk of containers", 0.15), "/etc/hosts": ("the node's disk", 0.10)}
_NEAR = 2.0  # times the memory: it moves between the kubelet's look and ours
_MOST_FILES = 200_000  # that are counted: the kubelet may leave a second
_FULL = 0.95  # of the memory limit, in the last sample before the end


def started(environment: Mapping[str, str]) -> JobStarted | None:
    if SERVICE_VARIABLE not in environment:
        return None
    pod = environment.get(POD_VARIABLE) or environment.get("HOSTNAME", "")
    return JobStarted(scheduler="kubernetes", job=pod, nodes=environment.get(NODE_VARIABLE, ""))


def asked_to_end(
    environment: Mapping[str, str], *, available_bytes: int | None, low_disks: list[str]
) -> SchedulerAnswered | None:
    pod = started(environment)
    if pod is None:
        return None
    low = list(low_disks)
    if available_bytes is not None and available_bytes < _NEAR * LEAST_MEMORY_BYTES:
        low.insert(0, f"{available_bytes >> 20} MiB available on the node")
    return SchedulerAnswered(
        scheduler="kubernetes", job=pod.job, why="evicted" if low else "", state=", ".join(low)
    )


def ended_before(pod: JobStarted, before: JobStarted, last: Sample | None) -> SchedulerAnswered | None:
    """Of a container that was started again in the same pod, whose journal has no end: what its memory was."""
    if pod.job != before.job or last is None:
        return None
    used, limit = last.memory_used_bytes, last.memory_limit_bytes
    if not used or not limit or used < _FULL * limit:
        return None
    state = f"{used >> 20} of {limit >> 20} MiB in use at the last sample"
    return SchedulerAnswered(
        scheduler="kubernetes", job=pod.job, why="out-of-memory", state=state, later=True
    )


def available_bytes() -> int | None:
    """Of the node: /proc/meminfo of a pod is that of its node."""
    return procfs.keyed(procfs.read("/proc/meminfo")).get("MemAvailable")


def low_disks(statvfs: Callable[[str], os.statvfs_result] = os.statvfs) -> list[str]:
    """Disks of the node at which the kubelet evicts. Not that of the run: it may be a volume of the pod's own."""
    low = []
    for place, (name, least) in NODE_DISKS.items():
        with contextlib.suppress(OSError):
            space = statvfs(place)
            if space.f_blocks and space.f_bavail < least * space.f_blocks:
                low.append(f"{space.f_bavail / space.f_blocks:.0%} of {name} free")
            if space.f_files and space.f_favail < LEAST_INODES_SHARE * space.f_files:
                low.append(f"{space.f_favail / space.f_files:.0%} of the inodes of {name} free")
    return low


def over_limit(environment: Mapping[str, str], places: Iterable[Path]) -> list[str]:
    """Where the run and the cache nearly fill the ephemeral storage that the pod may use."""
    text = environment.get(SCRATCH_VARIABLE, "")
    limit = int(text) if text.isdigit() else 0
    used = sum(map(_bytes_below, places)) if limit else 0
    if not limit or used < _FULL * limit:
        return []
    return [f"{used >> 20} of {limit >> 20} MiB of ephemeral storage used by the run and the cache"]


def _bytes_below(folder: Path) -> int:
    files = (Path(here, name) for here, _, names in os.walk(folder) for name in names)
    used = 0
    for file in islice(files, _MOST_FILES):
        with contextlib.suppress(OSError):
            used += file.lstat().st_blocks * 512
    return used


def write_message(text: str, environment: Mapping[str, str], file: Path = MESSAGE_FILE) -> None:
    """`kubectl describe pod` shows it as the message of the last state."""
    if SERVICE_VARIABLE in environment:
        with contextlib.suppress(OSError):  # another path, or none, was set in the pod
            file.write_bytes(text.encode("utf-8", "replace")[:MESSAGE_BYTES])
