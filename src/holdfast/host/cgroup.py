"""The control group of a process: its limits, what it uses, and how often the kernel had to step in.

Version 1 and 2, and both at once. `root` and `proc` are parameters, so that recorded trees can be read.
A container sees its own group mounted as the root, so a path that is not there is looked for from its
end: the mount may be a part of the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holdfast.host import procfs

_NO_LIMIT = 1 << 62  # version 1 writes "no limit" as the largest number of pages


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """Where the files of a process's group are."""

    version: int | None = None
    memory: Path | None = None
    memory_root: Path | None = None
    pids: Path | None = None
    pids_root: Path | None = None


@dataclass(frozen=True, slots=True)
class GroupState:
    version: int | None = None
    memory_limit_bytes: int | None = None  # the tightest from here to the root
    memory_used_bytes: int | None = None  # without page cache that can be given back
    swap_used_bytes: int | None = None
    oom_kills: int | None = None
    pids_limit: int | None = None
    pids_refused: int | None = None


def find(pid: int | str, *, proc: Path = Path("/proc"), root: Path = Path("/sys/fs/cgroup")) -> ControlGroup:
    lines = (procfs.read(str(proc / str(pid) / "cgroup")) or b"").decode(errors="replace").splitlines()
    paths: dict[str, str] = {}
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            paths[controller] = path
    if "memory" in paths and (root / "memory").is_dir():
        memory_root, pids_root = root / "memory", root / "pids"
        return ControlGroup(
            version=1,
            memory=_inside(memory_root, paths["memory"]),
            memory_root=memory_root,
            pids=_inside(pids_root, paths["pids"]) if "pids" in paths and pids_root.is_dir() else None,
            pids_root=pids_root,
        )
    unified = root / "unified" if (root / "unified" / "cgroup.controllers").exists() else root
    if "" in paths and (unified / "cgroup.controllers").exists():
        group = _inside(unified, paths[""])
        return ControlGroup(version=2, memory=group, memory_root=unified, pids=group, pids_root=unified)
    return ControlGroup()


def read(group: ControlGroup) -> GroupState:
    if group.version == 1:
        return _read_v1(group)
    if group.version == 2:
        return _read_v2(group)
    return GroupState()


def _inside(root: Path, path: str) -> Path:
    parts = [part for part in path.split("/") if part and part != ".."]
    for skipped in range(len(parts) + 1):
        candidate = root.joinpath(*parts[skipped:])
        if candidate.is_dir():
            return candidate
    return root


def _read_v1(group: ControlGroup) -> GroupState:
    folder, root = group.memory, group.memory_root
    if folder is None or root is None:
        return GroupState(version=1)
    counted = _keyed(folder / "memory.stat")
    used = _number(folder / "memory.usage_in_bytes")
    cache = counted.get("total_inactive_file", counted.get("total_cache", 0))
    return GroupState(
        version=1,
        memory_limit_bytes=_tightest(folder, root, "memory.limit_in_bytes"),
        memory_used_bytes=None if used is None else max(0, used - cache),
        swap_used_bytes=counted.get("total_swap"),
        oom_kills=_keyed(folder / "memory.oom_control").get("oom_kill"),
        pids_limit=_pids_limit(group),
        pids_refused=_pids_refused(group),
    )


def _read_v2(group: ControlGroup) -> GroupState:
    folder, root = group.memory, group.memory_root
    if folder is None or root is None:
        return GroupState(version=2)
    used = _number(folder / "memory.current")
    cache = _keyed(folder / "memory.stat").get("inactive_file", 0)
    return GroupState(
        version=2,
        memory_limit_bytes=_tightest(folder, root, "memory.max"),
        memory_used_bytes=None if used is None else max(0, used - cache),
        swap_used_bytes=_number(folder / "memory.swap.current"),
        oom_kills=_keyed(folder / "memory.events").get("oom_kill"),
        pids_limit=_pids_limit(group),
        pids_refused=_pids_refused(group),
    )


def _pids_limit(group: ControlGroup) -> int | None:
    if group.pids is None or group.pids_root is None:
        return None
    return _tightest(group.pids, group.pids_root, "pids.max")


def _pids_refused(group: ControlGroup) -> int | None:
    return None if group.pids is None else _keyed(group.pids / "pids.events").get("max")


def _tightest(folder: Path, root: Path, name: str) -> int | None:
    """The smallest limit from the group up to the root: a limit of a parent binds as well."""
    limits = []
    here = folder
    while True:
        limit = _number(here / name)
        if limit is not None and limit < _NO_LIMIT:
            limits.append(limit)
        if here in (root, here.parent):
            return min(limits, default=None)
        here = here.parent


def _number(path: Path) -> int | None:
    text = (procfs.read(str(path)) or b"").strip()
    return int(text) if text.isdigit() else None  # "max" is no limit


def _keyed(path: Path) -> dict[str, int]:
    return procfs.keyed(procfs.read(str(path)))
