"""Which processes have a file open to write to it: a log that somebody still writes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from holdfast.host import procfs


class LogWriter(NamedTuple):
    pid: int
    command: str


def log_writers(path: Path, *, proc: Path = Path("/proc")) -> list[LogWriter]:
    """Those that this user may see; empty on another system than Linux."""
    try:
        wanted = path.stat()
        pids = [entry for entry in os.listdir(proc) if entry.isdigit()]
    except OSError:
        return []
    return [
        LogWriter(int(pid), procfs.command_line(int(pid)))
        for pid in pids
        if int(pid) != os.getpid() and _writes(proc / pid, (wanted.st_dev, wanted.st_ino))
    ]


def _writes(process: Path, wanted: tuple[int, int]) -> bool:
    try:
        descriptors = os.listdir(process / "fd")
    except OSError:
        return False
    for number in descriptors:
        try:
            there = os.stat(process / "fd" / number)
            if (there.st_dev, there.st_ino) != wanted:
                continue
            info = (process / "fdinfo" / number).read_text()
        except OSError:
            continue
        flags = re.search(r"^flags:\s*0*([0-7]+)$", info, re.MULTILINE)
        if flags and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY:
            return True
    return False
