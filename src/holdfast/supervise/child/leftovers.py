"""What a command leaves running when it ends: the training below a shell script, a loader, a helper."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping

from holdfast.host import procfs
from holdfast.host.procfs import Stat

_POLL_EVERY_S = 0.1
_SELF_EXIT_S = 0.5  # in which helpers that see their parent end go by themselves

FindProcesses = Callable[[], Mapping[int, Stat]]
#: Waits so many seconds; True when somebody has lost patience meanwhile.
WaitInterruptibly = Callable[[float], bool]


def find_leftovers(group: int, known: Mapping[int, Stat]) -> dict[int, Stat]:
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


def gone_within(left: FindProcesses, within_s: float, wait: WaitInterruptibly = sleep) -> bool:
    until = time.monotonic() + within_s
    while left():
        if time.monotonic() >= until or wait(_POLL_EVERY_S):
            return False
    return True


def any_remain(left: FindProcesses) -> bool:
    """Whether some are there that do not go by themselves in a moment."""
    return not gone_within(left, _SELF_EXIT_S)


def send_signal(
    to: Mapping[int, Stat], number: signal.Signals, told: Callable[[int, signal.Signals], None]
) -> None:
    """A suspended process takes no signal but SIGKILL before it is woken."""
    for pid in to:
        told(pid, number)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            os.kill(pid, signal.SIGCONT)


def terminate(
    left: FindProcesses,
    *,
    within_s: float,
    told: Callable[[int, signal.Signals], None],
    asked_group: int | None = None,
    wait: WaitInterruptibly = sleep,
) -> None:
    """Asks them all to end, but for a group that was asked already, and kills those that have not after the time."""
    send_signal({pid: one for pid, one in left().items() if one.group != asked_group}, signal.SIGTERM, told)
    if not gone_within(left, within_s, wait):
        send_signal(left(), signal.SIGKILL, told)
