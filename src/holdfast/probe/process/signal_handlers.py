"""Signals that Python handles, or the script itself: a signal is recorded before its handler runs."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable
from typing import Any

from ...journal.events import SignalSeen
from ..runtime import fault_dumps, hidden_thread
from ..runtime.context import ProbeContext

PART = "signal_handlers"
_WATCHED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1)


def watch(context: ProbeContext) -> None:
    """The script sees its own handlers: `getsignal` and `signal` hand them out as they were given.

    Both are Python's own still. What they call is replaced below them, so that a script which has them by name
    (`from signal import signal`, before any framework) is observed too.
    """
    below = _SignalModule(context, signal._signal)  # type: ignore[attr-defined]
    signal._signal = below  # type: ignore[attr-defined]
    if hidden_thread.in_main():
        for number in _WATCHED:  # those that were there before the framework was imported
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.getsignal(number))


class _SignalModule:
    """The module `_signal`, as the module `signal` uses it."""

    def __init__(self, context: ProbeContext, original: Any) -> None:
        self._original = original

        @functools.wraps(original.signal)
        def install(number: Any, handler: Any) -> Any:
            if number == signal.SIGUSR2:
                context.guard(fault_dumps.PART, context.fault_dumps.give_up_signal)
            return _own(original.signal(number, _recording(context, number, handler)))

        @functools.wraps(original.getsignal)
        def installed(number: Any) -> Any:
            return _own(original.getsignal(number))

        self.signal: Callable[..., Any] = install
        self.getsignal: Callable[..., Any] = installed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_original"], name)


def _recording(context: ProbeContext, number: Any, handler: Any) -> Any:
    """Python's own for SIGINT too: a script may catch its KeyboardInterrupt and leave as if it were done."""
    if number not in _WATCHED or not callable(handler) or hasattr(handler, "_holdfast_handler"):
        return handler

    def handler_observed(came: int, frame: Any) -> Any:
        if context.role == "main" and not context.forked:
            context.exceptions.interrupted = context.exceptions.interrupted or came == signal.SIGINT
            context.guard(PART, context.record, SignalSeen(signal=signal.Signals(came).name))
        return handler(came, frame)

    handler_observed._holdfast_handler = handler  # type: ignore[attr-defined]
    return handler_observed


def _own(handler: Any) -> Any:
    return getattr(handler, "_holdfast_handler", handler)
