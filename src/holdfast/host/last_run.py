"""How long ago a thread last ran on a CPU, by the scheduler's own record (/proc/PID/task/TID/sched).

So a process that waits is known to have waited for an hour in the first second of looking at it. The scheduler's clock
leaves out stolen time and differs from CPU to CPU: "now" is read on the CPU that the thread ran on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from holdfast.host import procfs

_LAST_CPU_FIELD = 36  # of /proc/PID/stat, counted from the state


def seconds_since_run(threads: Iterable[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """By process and thread. Without those that could not be read: other kernels have no such record."""
    known = [
        (key, at, cpu)
        for key in threads
        if (at := _last_ran(*key)) is not None and (cpu := _last_cpu(*key)) >= 0
    ]
    now_by_cpu = _clocks({cpu for _, _, cpu in known})
    latest = max(now_by_cpu.values(), default=0.0)
    # Zero: it has just been created, or moved to another CPU, where it is about to run.
    return {key: max(0.0, now_by_cpu.get(cpu, latest) - at) if at else 0.0 for key, at, cpu in known}


def _last_ran(pid: int, thread: int) -> float | None:
    """On the scheduler's clock, in seconds."""
    for line in (procfs.read(f"/proc/{pid}/task/{thread}/sched") or b"").splitlines():
        if line.startswith(b"se.exec_start"):
            return float(line.partition(b":")[2]) / 1000
    return None


def _last_cpu(pid: int, thread: int) -> int:
    fields = (procfs.read(f"/proc/{pid}/task/{thread}/stat") or b"").rpartition(b")")[2].split()
    return int(fields[_LAST_CPU_FIELD]) if len(fields) > _LAST_CPU_FIELD else -1


def _clocks(cpus: set[int]) -> dict[int, float]:
    """The scheduler's time now on each of these CPUs, read by a thread of ours that moves there."""
    found: dict[int, float] = {}

    def visit() -> None:
        own = threading.get_native_id()
        for cpu in cpus & os.sched_getaffinity(0):
            os.sched_setaffinity(own, {cpu})
            found[cpu] = _last_ran(os.getpid(), own) or 0.0

    visitor = threading.Thread(
        target=visit, daemon=True
    )  # pinning a thread of its own leaves ours where it is
    visitor.start()
    visitor.join()
    return {cpu: now for cpu, now in found.items() if now}
