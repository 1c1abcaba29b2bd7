"""What the machine allowed when a run started, for the journal: limits, swap, disks, GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.atomic_write import temporary_folder
from holdfast.host import cgroup, machine_limits, procfs
from holdfast.journal.events import MachineRead


def run_paths(run: Path, cwd: Path) -> dict[str, Path]:
    """The file systems that a run depends on, by what they are to it."""
    return {"run": run, "cwd": cwd, "tmp": temporary_folder(), "shm": Path("/dev/shm")}


def machine_read_event(
    group: cgroup.ControlGroup, paths: Mapping[str, Path], gpus: list[dict[str, Any]]
) -> MachineRead:
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
        rlimits=machine_limits.rlimits(),
        disks=machine_limits.disks(paths),
        gpus=gpus,
    )
