"""A process that is watched and is not our child: whether it lives, waiting for its end, and how it ended.

Only a parent learns how a process ended. Linux 6.15 and later inform everybody who holds a descriptor of the process;
before that, the status can be read as long as the parent has not asked for it.
"""

from __future__ import annotations

import contextlib
import os
import select
import struct
import time
from collections.abc import Collection
from dataclasses import dataclass

from holdfast.host import procfs
from holdfast.host.procfs import Stat
from holdfast.host.signals import signal_name

_INFO = struct.Struct("<QQ11Ii")  # struct pidfd_info: mask, cgroup, eleven ids, exit code
_INFO_EXIT = 1 << 3
_GET_INFO = 0xC000FF0B | _INFO.size << 16  # PIDFD_GET_INFO
_STATUS_FIELD = 49  # of /proc/PID/stat, counted from the state
_REAPED_WITHIN_S = 1.0
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """Of a process that has ended."""

    exit_code: int | None = None
    signal: str | None = None
    core_dumped: bool = False


class WatchedProcess:
    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.at_start = procfs.stat(pid)
        self._pidfd = _open_pidfd(pid)

    def wait(self, timeout_s: float, *, also: Collection[int] = ()) -> list[int]:
        """Waits for the end of the process or for one of these descriptors; returns those that are ready.

        Before Linux 5.3 a process has no descriptor, and `alive` must be asked.
        """
        poll = select.poll()
        for descriptor in (*also, *([self._pidfd] if self._pidfd is not None else [])):
            poll.register(descriptor, select.POLLIN)
        return [ready for ready, _ in poll.poll(max(0.0, timeout_s) * 1000)]

    @property
    def alive(self) -> bool:
        """The process, and not a later one with the same pid."""
        return _is_same_alive(procfs.stat(self.pid), self.at_start)

    def exit_status(self) -> ExitStatus | None:
        """How it ended; None where this kernel informs its parent only. Waits a moment for the parent to take note."""
        until = time.monotonic() + _REAPED_WITHIN_S
        status: int | None = None
        while status is None and time.monotonic() < until:
            status = self._status_of_zombie()
            if status is None:
                status = self._status_of_descriptor()
            if status is None:
                time.sleep(_POLL_S)
        return decode_status(status) if status is not None else None

    def close(self) -> None:
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def _status_of_zombie(self) -> int | None:
        text = procfs.read(f"/proc/{self.pid}/stat") or b""
        now = procfs.parse_stat(text) if text else None
        if now is None or self.at_start is None or now.started_ticks != self.at_start.started_ticks:
            return None
        fields = text[text.rfind(b")") + 2 :].split()
        # Where ptrace is refused the kernel writes 0, which is no answer.
        readable = os.access(f"/proc/{self.pid}/environ", os.R_OK) and len(fields) > _STATUS_FIELD
        return int(fields[_STATUS_FIELD]) if now.state in "ZX" and readable else None

    def _status_of_descriptor(self) -> int | None:
        import fcntl

        if self._pidfd is None:
            return None
        info = bytearray(_INFO.size)
        struct.pack_into("<Q", info, 0, _INFO_EXIT)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._pidfd, _GET_INFO, info)
            mask, *_, status = _INFO.unpack(info)
            return status if mask & _INFO_EXIT else None
        return None


def decode_status(status: int) -> ExitStatus:
    """A status as `waitpid` has it."""
    if os.WIFSIGNALED(status):
        return ExitStatus(None, signal_name(os.WTERMSIG(status)), os.WCOREDUMP(status))
    return ExitStatus(os.WEXITSTATUS(status))


def _open_pidfd(pid: int) -> int | None:
    """Readable once the process has ended."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _is_same_alive(now: Stat | None, at_start: Stat | None) -> bool:
    return (
        now is not None
        and at_start is not None
        and now.started_ticks == at_start.started_ticks
        and now.state not in "ZX"
    )
