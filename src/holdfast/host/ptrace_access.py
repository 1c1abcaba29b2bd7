"""Whether this process may read the stacks of another one, and what forbids it."""

from __future__ import annotations

import enum
import os
from pathlib import Path

from holdfast.host import procfs

_CAP_SYS_PTRACE = 19
_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


class Refusal(enum.StrEnum):
    """Why the kernel refuses ptrace."""

    OTHER_USER = "other-user"
    YAMA = "yama"  # ptrace_scope: only a parent may read its child
    YAMA_NOBODY = "yama-nobody"  # ptrace_scope 3: nobody may, until the next start of the machine
    NOT_DUMPABLE = "not-dumpable"  # the process, or the file it was started from, forbids it
    CONTAINER = "container"  # the container's security profile


def refusal(pid: int) -> Refusal | None:
    """None where it is permitted. The kernel makes the same check for the file /proc/PID/syscall as for ptrace."""
    try:
        Path(f"/proc/{pid}/syscall").read_bytes()
        return None
    except PermissionError:
        pass
    except OSError:  # gone, or a kernel without that file
        return None
    scope = yama_scope()
    if scope >= 3:
        return Refusal.YAMA_NOBODY
    if os.geteuid() not in (0, owner(pid)):
        return Refusal.OTHER_USER
    if scope >= 1 and not may_trace_any():
        return Refusal.YAMA
    return Refusal.CONTAINER if os.geteuid() == 0 and not may_trace_any() else Refusal.NOT_DUMPABLE


def yama_scope() -> int:
    """0 where the kernel has no Yama."""
    try:
        return int(_YAMA.read_text())
    except (OSError, ValueError):
        return 0


def may_trace_any() -> bool:
    """Whether we have CAP_SYS_PTRACE."""
    for line in (procfs.read("/proc/self/status") or b"").splitlines():
        if line.startswith(b"CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_PTRACE & 1)
    return False


def owner(pid: int) -> int | None:
    """The effective user; None when the process has gone. The folder's owner is root for a process that forbids
    ptrace, so the status is read."""
    for line in (procfs.read(f"/proc/{pid}/status") or b"").splitlines():
        if line.startswith(b"Uid:"):
            return int(line.split()[2])
    return None
