"""How an agent of a group spends its steps: a few numbers in a memory-mapped file, about a microsecond a write.

Heartbeats cannot distinguish a slow agent from one that waits for it: in a group all steps take equally long. The time
of the local work, before the collective operation, does.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path

TIMING_FILE = "pace"
OUTSIDE_STEP, LOCAL_WORK, COLLECTIVE = 0, 1, 2
_RECORD = struct.Struct("<4sIIQQdd")  # magic, state, process, steps joined, step, own seconds, joint seconds
_MAGIC = b"HFP1"


@dataclass(frozen=True, slots=True)
class StepTiming:
    state: int  # OUTSIDE_STEP, LOCAL_WORK, or COLLECTIVE: waiting for the others
    pid: int
    steps: int  # since the process began
    step: int
    own_s: float  # in all
    together_s: float


class StepTimingWriter:
    def __init__(self, path: Path) -> None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.pwrite(fd, b"\0" * _RECORD.size, 0)
            self._map = mmap.mmap(fd, _RECORD.size)
        finally:
            os.close(fd)
        self._pid = os.getpid()
        self._steps, self._own_s, self._together_s = 0, 0.0, 0.0

    def note(
        self, state: int, step: int, *, own_s: float = 0.0, together_s: float = 0.0, joined: int = 0
    ) -> None:
        self._steps += joined
        self._own_s += own_s
        self._together_s += together_s
        _RECORD.pack_into(
            self._map, 0, _MAGIC, state, self._pid, self._steps, step, self._own_s, self._together_s
        )


def read(path: Path) -> StepTiming | None:
    """None when nothing was written yet. A half-written record is off by one step, which does not matter."""
    from ..regular_file import read_bytes  # the writer's side has no use for it

    try:
        data = read_bytes(path, most=4096, links=False)
    except OSError:
        return None
    if len(data) < _RECORD.size or data[:4] != _MAGIC:
        return None
    _, state, pid, steps, step, own_s, together_s = _RECORD.unpack_from(data)
    return StepTiming(state, pid, steps, step, own_s, together_s)
