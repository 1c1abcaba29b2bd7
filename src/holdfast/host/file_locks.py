"""Which process has locked a file, by the kernel's own table (/proc/locks)."""

from __future__ import annotations

import os
from typing import NamedTuple

from holdfast.host import procfs
from holdfast.host.last_run import seconds_since_run


class LockOwner(NamedTuple):
    pid: int
    name: str

    @property
    def idle_s(self) -> float | None:
        """How long none of its threads has run; None where that cannot be read."""
        since = seconds_since_run((self.pid, thread) for thread in procfs.threads(self.pid))
        return min(since.values()) if since else None


def owner_of(pid: int, number: int) -> LockOwner | None:
    """Of a lock on the file that this process has open under this number; None without one, or if it is its own."""
    try:
        file = os.stat(f"/proc/{pid}/fd/{number}")
    except OSError:
        return None
    owner = parse_owner(
        (procfs.read("/proc/locks") or b"").decode(errors="replace"), file.st_dev, file.st_ino
    )
    if owner is None or owner == pid:
        return None
    stat = procfs.stat(owner)
    return LockOwner(owner, stat.name) if stat is not None else None


def parse_owner(table: str, device: int, inode: int) -> int | None:
    """The process of the first granted lock on this file. Lines with an arrow are of processes that wait."""
    wanted = f"{os.major(device):02x}:{os.minor(device):02x}:{inode}"
    for line in table.splitlines():
        words = line.split()
        if len(words) >= 6 and words[1] != "->" and words[5] == wanted and words[4].isdigit():
            return int(words[4]) or None
    return None
