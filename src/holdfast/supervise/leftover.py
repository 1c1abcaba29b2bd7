"""What a command leaves running when it ends: the training below a shell script, a loader, a helper."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping

from holdfast.supervise import procfs
from holdfast.supervise.procfs import Stat

_EVERY_S = 0.1
_MOMENT_S = 0.5  # in which helpers that see their parent end go by themselves

Find = Callable[[], Mapping[int, Stat]]
#: Waits so many seconds; True when somebody has lost patience meanwhile.
Wait = Callable[[float], bool]


def find(group: int, known: Mapping[int, Stat]) -> dict[int, Stat]:
    """By the command's process group, by what was seen below the command, and by what is below those now.

    A known process is told from a later one of the same number by when it started.
    """
    pids = set(procfs.processes_of_group(group))
    for pid, one in known.items():
        again = procfs.stat(pid)
        if again is not None and again.started_ticks == one.started_ticks:
            pids.add(pid)
    pids.update([below for pid in list(pids) for below in procfs.descendants(pid)])
    now = {pid: procfs.stat(pid) for pid in sorted(pids - {group})}
    return {pid: one for pid, one in now.items() if one is not None and one.state not in "ZX"}


def sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def gone_within(left: Find, within_s: float, wait: Wait = sleep) -> bool:
    until = time.monotonic() + within_s
    while left():
        if time.monotonic() >= until or wait(_EVERY_S):
            return False
    return True


def stay(left: Find) -> bool:
    """Whether some are there that do not go by themselves in a moment."""
    return not gone_within(left, _MOMENT_S)


def send(to: Mapping[int, Stat], number: signal.Signals, told: Callable[[int, signal.Signals], None]) -> None:
    """A suspended process takes no signal but SIGKILL before it is woken."""
    for pid in to:
        told(pid, number)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            os.kill(pid, signal.SIGCONT)


def end(
    left: Find,
    *,
    within_s: float,
    told: Callable[[int, signal.Signals], None],
    asked_group: int | None = None,
    wait: Wait = sleep,
) -> None:
    """Asks them all to end, but for a group that was asked already, and kills those that have not after the time."""
    send({pid: one for pid, one in left().items() if one.group != asked_group}, signal.SIGTERM, told)
    if not gone_within(left, within_s, wait):
        send(left(), signal.SIGKILL, told)
