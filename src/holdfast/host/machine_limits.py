"""What the machine allows: limits, room on its disks, pressure, and what the kernel wrote to its log."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.host import cgroup, procfs
from holdfast.journal.events import MachineRead

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


def run_paths(run: Path, cwd: Path) -> dict[str, Path]:
    """The file systems that a run depends on, by what they are to it."""
    return {"run": run, "cwd": cwd, "tmp": Path(tempfile.gettempdir()), "shm": Path("/dev/shm")}


def disks(named: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Room for us, not for root. A place that is not there is left out."""
    found = []
    for what, path in named.items():
        with contextlib.suppress(OSError):
            room = os.statvfs(path)
            found.append(
                {
                    "what": what,
                    "path": str(path),
                    "free_bytes": room.f_bavail * room.f_frsize,
                    "total_bytes": room.f_blocks * room.f_frsize,
                }
            )
    return found


def read(group: cgroup.ControlGroup, named: Mapping[str, Path], gpus: list[dict[str, Any]]) -> MachineRead:
    state = cgroup.read(group)
    memory = procfs.keyed(procfs.read("/proc/meminfo"))
    swap_total = memory.get("SwapTotal")
    return MachineRead(
        cgroup=state.version,
        memory_limit_bytes=state.memory_limit_bytes,
        memory_used_bytes=state.memory_used_bytes,
        swap_total_bytes=swap_total,
        swap_used_bytes=None if swap_total is None else swap_total - memory.get("SwapFree", 0),
        oom_kills=state.oom_kills,
        pids_limit=state.pids_limit,
        pids_refused=state.pids_refused,
        rlimits=rlimits(),
        disks=disks(named),
        gpus=gpus,
    )


def pressure(folder: Path = Path("/proc/pressure")) -> dict[str, float]:
    """The share of the last ten seconds in which work waited, by what it waited for."""
    found: dict[str, float] = {}
    for what in ("memory", "io", "cpu"):
        for line in (procfs.read(str(folder / what)) or b"").decode().splitlines():
            words = line.split()
            if len(words) > 1 and words[1].startswith("avg10="):
                found[f"{what}.{words[0]}"] = float(words[1].removeprefix("avg10="))
    return found


@dataclass(frozen=True, slots=True)
class KernelLine:
    at: float  # seconds since the machine started
    text: str


#: What the kernel says when it ends or refuses a process.
_MEMORY_LINES = re.compile(
    r"out of memory|oom-kill|oom_reaper|killed process|segfault|general protection|traps:|invalid opcode"
    r"|bus error|NVRM: Xid|fork rejected|I/O error|hung_task|blocked for more than",
    re.IGNORECASE,
)


def kernel_log(*, since: float, device: str = "/dev/kmsg", limit: int = 40) -> list[KernelLine]:
    """Telling lines of the kernel's log since then; empty where it may not be read."""
    try:
        fd = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    lines: list[KernelLine] = []
    try:
        while True:
            try:
                record = os.read(fd, 8192)
            except BrokenPipeError:  # records were overwritten while we read; the next read goes on
                continue
            except OSError:
                break
            line = parse_kernel_record(record)
            if line is not None and line.at >= since and _MEMORY_LINES.search(line.text):
                lines.append(line)
            if not record:
                break
    finally:
        os.close(fd)
    return lines[-limit:]


def parse_kernel_record(record: bytes) -> KernelLine | None:
    """``6,1234,56789012,-;text``: the third is microseconds since the machine started."""
    head, semicolon, text = record.decode(errors="replace").partition(";")
    fields = head.split(",")
    if not semicolon or len(fields) < 3 or not fields[2].isdigit():
        return None
    return KernelLine(int(fields[2]) / 1e6, text.split("\n", 1)[0])


def lines_about(lines: Iterable[KernelLine], pids: Iterable[int]) -> list[str]:
    """The lines that name one of these processes, or speak of memory without naming any."""
    numbers = {str(pid) for pid in pids}
    return [
        line.text
        for line in lines
        if numbers & set(re.findall(r"\d+", line.text))
        or re.search(r"Xid|fork rejected|I/O error", line.text)
    ]


def killed_pid(lines: Iterable[str]) -> int | None:
    for line in reversed(list(lines)):
        match = re.search(r"Killed process (\d+)", line)
        if match:
            return int(match[1])
    return None
