"""Since when nothing of a process has run, read in the first moment of looking at it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from holdfast.host import last_run, procfs
from holdfast.supervise.stack_capture import pyspy, syscalls
from holdfast.supervise.stall import thread_waits

_ThreadKey = tuple[int, int]  # process, thread
_READINGS, _READING_EVERY_S = 3, 0.04


def by_thread(tree: Sequence[int]) -> dict[_ThreadKey, float]:
    """Seconds since each thread of the tree ran."""
    return last_run.seconds_since_run([(pid, thread) for pid in tree for thread in procfs.threads(pid)])


def idle_for(tree: Sequence[int], trainer: int, since_s: Mapping[_ThreadKey, float]) -> float | None:
    """Since the trainer's main thread, another that the tree waits for, or a Python thread of the trainer ran; None
    where the kernel does not say.

    A thread that wakes up now and then to look at a flag does not count, nor do native threads: what those compute or
    read is seen while the process is watched.
    """
    if not since_s:
        return None
    counted = [since_s.get((trainer, trainer)), thread_waits.read_tree(tree).blocked_for_s]
    counted += [since_s.get(key) for key in _python_threads(trainer) if not _wakes_by_itself(key)]
    return min((seconds for seconds in counted if seconds is not None), default=None)


def _python_threads(pid: int) -> list[_ThreadKey]:
    """Besides the main thread, those with Python frames; reading them does not wake a process that waits."""
    try:
        return [(pid, thread.tid) for thread in pyspy.dump_gently(pid) if thread.frames and thread.tid != pid]
    except pyspy.NoStacks:
        return []


def _wakes_by_itself(key: _ThreadKey) -> bool:
    """It was seen in a timed wait: between two of them it runs for a moment, and is in none."""
    for reading in range(_READINGS):
        call = syscalls.current_syscall(*key)
        if call is not None and call.timed:
            return True
        if reading < _READINGS - 1:
            time.sleep(_READING_EVERY_S)
    return False
