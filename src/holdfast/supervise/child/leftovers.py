"""Processes that a command leaves running when it ends: the training below a shell script, a loader, a helper."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping

from holdfast.host import procfs
from holdfast.host.procfs import Stat

_POLL_EVERY_S = 0.1
_SELF_EXIT_S = 0.5  # in which helpers end by themselves when their parent has

FindProcesses = Callable[[], Mapping[int, Stat]]
#: Waits so many seconds; True when the user does not want to wait any longer.
WaitInterruptibly = Callable[[float], bool]


def find_leftovers(group: int, known: Mapping[int, Stat]) -> dict[int, Stat]:
    """By the command's process group, by what was seen below the command, and by what is below those now.

    A known process is distinguished from a later one with the same pid by when it started.
    """
    pids = set(procfs.processes_of_group(group))
    for pid, before in known.items():
        stat = procfs.stat(pid)
        if stat is not None and stat.started_ticks == before.started_ticks:
            pids.add(pid)
    pids.update([child for pid in list(pids) for child in procfs.descendants(pid)])
    now = {pid: procfs.stat(pid) for pid in sorted(pids - {group})}
    return {pid: stat for pid, stat in now.items() if stat is not None and stat.state not in "ZX"}


def sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def gone_within(remaining: FindProcesses, within_s: float, wait: WaitInterruptibly = sleep) -> bool:
    until = time.monotonic() + within_s
    while remaining():
        if time.monotonic() >= until or wait(_POLL_EVERY_S):
            return False
    return True


def any_remain(remaining: FindProcesses) -> bool:
    """Whether some do not end by themselves in a moment."""
    return not gone_within(remaining, _SELF_EXIT_S)


def send_signal(
    to: Mapping[int, Stat], number: signal.Signals, on_sent: Callable[[int, signal.Signals], None]
) -> None:
    """A suspended process handles no signal but SIGKILL before SIGCONT."""
    for pid in to:
        on_sent(pid, number)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            os.kill(pid, signal.SIGCONT)


def terminate(
    remaining: FindProcesses,
    *,
    within_s: float,
    on_sent: Callable[[int, signal.Signals], None],
    signalled_group: int | None = None,
    wait: WaitInterruptibly = sleep,
) -> None:
    """SIGTERM to all but a group that has it already, and SIGKILL to those that have not ended in time."""
    others = {pid: stat for pid, stat in remaining().items() if stat.group != signalled_group}
    send_signal(others, signal.SIGTERM, on_sent)
    if not gone_within(remaining, within_s, wait):
        send_signal(remaining(), signal.SIGKILL, on_sent)
