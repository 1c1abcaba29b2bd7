"""The control group of a process: its limits, its usage, and its counters of out-of-memory kills and refused forks.

Versions 1 and 2, and both at once. `root` and `proc` are parameters, so that recorded trees can be read. A container
sees its own group mounted as the root, so the path in /proc may not exist there. Then its tail is tried, part by
part: the mount may be a subtree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from holdfast.host import procfs

_NO_LIMIT = 1 << 60  # version 1 writes "no limit" as a number near 2^63


@dataclass(frozen=True, slots=True)
class GroupFolder:
    """The files of one controller. Version 1 mounts each controller by itself, version 2 all of them once."""

    version: int
    path: Path
    mount: Path

    def with_parents(self) -> list[Path]:
        """From the group up to the mount: the limit of a parent applies as well."""
        if not self.path.is_relative_to(self.mount):
            return [self.path]
        inner = self.path.relative_to(self.mount).parts
        return [self.mount.joinpath(*inner[:depth]) for depth in range(len(inner), -1, -1)]


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """Where the files of a process's group are; None for a controller that is not there."""

    memory: GroupFolder | None = None
    pids: GroupFolder | None = None
    cpu: GroupFolder | None = None

    @property
    def version(self) -> int | None:
        return self.memory.version if self.memory is not None else None


@dataclass(frozen=True, slots=True)
class GroupState:
    version: int | None = None
    memory_limit_bytes: int | None = None  # the tightest from here to the root
    memory_used_bytes: int | None = None  # without page cache that can be reclaimed
    swap_used_bytes: int | None = None
    oom_kills: int | None = None
    pids_limit: int | None = None
    pids_refused: int | None = None


class _MemoryFiles(NamedTuple):
    limit: str
    used: str
    reclaimable: Sequence[str]  # counters in memory.stat, the first that exists
    kills: str


_MEMORY_FILES = {
    1: _MemoryFiles(
        "memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_cache"), "memory.oom_control"
    ),
    2: _MemoryFiles("memory.max", "memory.current", ("inactive_file",), "memory.events"),
}  # fmt: skip


def find(
    pid: int | str = "self", *, proc: Path = Path("/proc"), root: Path = Path("/sys/fs/cgroup")
) -> ControlGroup:
    lines = (procfs.read(str(proc / str(pid) / "cgroup")) or b"").decode(errors="replace").splitlines()
    entries = [[*line.split(":", 2), "", ""][1:3] for line in lines]  # controllers, path
    return ControlGroup(**{name: _folder(name, entries, root) for name in ("memory", "pids", "cpu")})


def _folder(controller: str, entries: Sequence[Sequence[str]], root: Path) -> GroupFolder | None:
    for controllers, path in entries:
        if controller in controllers.split(","):
            for mount in (root / controller, root / controllers):
                if mount.is_dir():
                    return GroupFolder(1, _inside(mount, path), mount)
    for controllers, path in entries:
        for mount in (root / "unified", root):
            if controllers == "" and (mount / "cgroup.controllers").exists():
                return GroupFolder(2, _inside(mount, path), mount)
    return None


def _inside(mount: Path, path: str) -> Path:
    parts = [part for part in path.split("/") if part and part != ".."]
    for skipped in range(len(parts) + 1):
        candidate = mount.joinpath(*parts[skipped:])
        if candidate.is_dir():
            return candidate
    return mount


def read(group: ControlGroup) -> GroupState:
    limits = {"pids_limit": _tightest(group.pids, "pids.max"), "pids_refused": _refused_forks(group.pids)}
    memory = group.memory
    if memory is None:
        return GroupState(**limits)
    files = _MEMORY_FILES[memory.version]
    return GroupState(
        version=memory.version,
        memory_limit_bytes=memory_limit_bytes(group),
        memory_used_bytes=_used_bytes(memory.path, files),
        swap_used_bytes=_swap_used_bytes(memory),
        oom_kills=_keyed(memory.path / files.kills).get("oom_kill"),
        **limits,
    )


def memory_limit_bytes(group: ControlGroup) -> int | None:
    memory = group.memory
    return None if memory is None else _tightest(memory, _MEMORY_FILES[memory.version].limit)


def memory_headroom_bytes(group: ControlGroup) -> int | None:
    """The least that is left of any limit from the group to the root. None without a limit; negative above one."""
    if group.memory is None:
        return None
    files = _MEMORY_FILES[group.memory.version]
    left = []
    for folder in group.memory.with_parents():
        limit, used = _limit(folder / files.limit), _used_bytes(folder, files)
        if limit is not None and used is not None:
            left.append(limit - used)
    return min(left, default=None)


def cpu_quota(group: ControlGroup) -> float | None:
    """How many cores the group may use; None without a quota."""
    folders = group.cpu.with_parents() if group.cpu is not None else []
    quotas = [quota for folder in folders if (quota := _cpu_quota(folder)) is not None]
    return min(quotas, default=None)


def _cpu_quota(folder: Path) -> float | None:
    words = (procfs.read(str(folder / "cpu.max")) or b"").split()
    if len(words) == 2 and all(word.isdigit() for word in words):
        quota, period = int(words[0]), int(words[1])
    else:
        quota = _number(folder / "cpu.cfs_quota_us") or 0  # -1, no number of ours, is no quota
        period = _number(folder / "cpu.cfs_period_us") or 0
    return quota / period if quota and period else None


def _used_bytes(folder: Path, files: _MemoryFiles) -> int | None:
    used = _number(folder / files.used)
    if used is None:
        return None
    counters = _keyed(folder / "memory.stat")
    return max(0, used - next((counters[name] for name in files.reclaimable if name in counters), 0))


def _swap_used_bytes(memory: GroupFolder) -> int | None:
    if memory.version == 1:
        return _keyed(memory.path / "memory.stat").get("total_swap")
    return _number(memory.path / "memory.swap.current")


def _refused_forks(pids: GroupFolder | None) -> int | None:
    return None if pids is None else _keyed(pids.path / "pids.events").get("max")


def _tightest(group: GroupFolder | None, name: str) -> int | None:
    folders = group.with_parents() if group is not None else []
    limits = [limit for folder in folders if (limit := _limit(folder / name)) is not None]
    return min(limits, default=None)


def _limit(path: Path) -> int | None:
    limit = _number(path)
    return limit if limit is not None and limit < _NO_LIMIT else None


def _number(path: Path) -> int | None:
    text = (procfs.read(str(path)) or b"").strip()
    return int(text) if text.isdigit() else None  # "max" is no limit


def _keyed(path: Path) -> dict[str, int]:
    return procfs.keyed(procfs.read(str(path)))
