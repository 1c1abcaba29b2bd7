"""One thread of the probe for what need not be done between steps. It sleeps, polls, and ends with the process."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import fault_dumps, hidden_thread

if TYPE_CHECKING:
    from .context import ProbeContext

_PERIOD_S = 1.0
_JOIN_S = 0.5
_GONE_S = 0.05  # from the end of its work until the kernel has no such thread any more
_WARNS_OF_THREADS = sys.version_info >= (3, 12)  # `os.fork`, by the number that the kernel gives


class BackgroundThread:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._actions: dict[str, Callable[[float], Any]] = {}
        self._stop = threading.Event()
        self._thread: hidden_thread.HiddenThread | None = None
        self._pid = 0

    def every_second(self, part: str, action: Callable[[float], Any]) -> None:
        """Has `action(now)` called about once a second from now on, until its part fails."""
        self._actions[part] = action
        if self._thread is None or self._pid != os.getpid():
            self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._run()
        self._context.at_exit.append(self.stop)

    def _run(self) -> None:
        self._stop = threading.Event()
        self._thread = hidden_thread.HiddenThread(self._work)

    def stop(self) -> None:
        """Before the interpreter takes its modules apart; an action that runs is given half a second."""
        self._stop.set()
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join(_JOIN_S)

    def pause(self) -> None:
        """Before a fork: a script whose only second thread is ours is not to be warned of it. The next beat resumes:
        Python 3.13 counts the threads after all that can be registered to follow a fork."""
        if not _WARNS_OF_THREADS or self._thread is None or self._pid != os.getpid() or _thread_count() != 2:
            return
        self.stop()
        until = time.monotonic() + _GONE_S
        while _thread_count() > 1 and time.monotonic() < until:
            time.sleep(0.0005)
        self._context.heartbeat.at_next_beat = self._run

    def _work(self) -> None:
        stop = self._stop
        while not stop.wait(_PERIOD_S):
            for part, action in list(self._actions.items()):
                self._context.guard(part, action, time.monotonic())
            self._context.guard(fault_dumps.PART, self._context.fault_dumps.check_handlers)
            hidden_thread.forget()


def _thread_count() -> int:
    with contextlib.suppress(OSError):
        return len(os.listdir("/proc/self/task"))
    return 0
