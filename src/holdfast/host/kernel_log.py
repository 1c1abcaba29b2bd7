"""What the kernel wrote to its log about a process: out-of-memory kills, crashes, GPU and disk errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KernelLine:
    at: float  # seconds since the machine started
    text: str


#: What the kernel writes when it ends a process or refuses it something.
_RELEVANT = re.compile(
    r"out of memory|oom-kill|oom_reaper|killed process|segfault|general protection|traps:|invalid opcode"
    r"|bus error|NVRM: Xid|fork rejected|I/O error|hung_task|blocked for more than",
    re.IGNORECASE,
)
#: Relevant even where the line names none of our processes.
_WITHOUT_PID = re.compile(r"Xid|fork rejected|I/O error")


def read(*, since: float, device: str = "/dev/kmsg", limit: int = 40) -> list[KernelLine]:
    """The relevant lines since then; empty where the log may not be read."""
    try:
        fd = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    lines: list[KernelLine] = []
    try:
        while True:
            try:
                record = os.read(fd, 8192)
            except BrokenPipeError:  # records were overwritten meanwhile; the next read continues behind them
                continue
            except OSError:
                break
            line = parse_record(record)
            if line is not None and line.at >= since and _RELEVANT.search(line.text):
                lines.append(line)
            if not record:
                break
    finally:
        os.close(fd)
    return lines[-limit:]


def readable(device: str = "/dev/kmsg") -> bool:
    """Whether this process may read the log at all."""
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def parse_record(record: bytes) -> KernelLine | None:
    """``6,1234,56789012,-;text``: the third is microseconds since the machine started."""
    head, semicolon, text = record.decode(errors="replace").partition(";")
    fields = head.split(",")
    if not semicolon or len(fields) < 3 or not fields[2].isdigit():
        return None
    return KernelLine(int(fields[2]) / 1e6, text.split("\n", 1)[0])


def lines_about(lines: Iterable[KernelLine], pids: Iterable[int]) -> list[str]:
    """The lines that name one of these processes, or are relevant without naming any."""
    numbers = {str(pid) for pid in pids}
    return [
        line.text
        for line in lines
        if numbers & set(re.findall(r"\d+", line.text)) or _WITHOUT_PID.search(line.text)
    ]


def killed_pid(lines: Iterable[str]) -> int | None:
    for line in reversed(list(lines)):
        match = re.search(r"Killed process (\d+)", line)
        if match:
            return int(match[1])
    return None
