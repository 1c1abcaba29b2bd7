"""One thread of the probe for what need not be done between steps. It sleeps, polls, and ends with the process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import fault_dumps, hidden_thread

if TYPE_CHECKING:
    from .context import ProbeContext

_PERIOD_S = 1.0
_JOIN_S = 0.5


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
        self._stop = threading.Event()
        self._thread = hidden_thread.HiddenThread(self._work)
        self._context.at_exit.append(self.stop)

    def stop(self) -> None:
        """Before the interpreter takes its modules apart; an action that runs is given half a second."""
        self._stop.set()
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join(_JOIN_S)

    def _work(self) -> None:
        stop = self._stop
        while not stop.wait(_PERIOD_S):
            for part, action in list(self._actions.items()):
                self._context.guard(part, action, time.monotonic())
            self._context.guard(fault_dumps.PART, self._context.fault_dumps.check_handlers)
            hidden_thread.forget()
