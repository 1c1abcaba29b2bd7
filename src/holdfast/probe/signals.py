"""Signals that Python handles, or the script itself: that one came is written down before its handler runs."""

from __future__ import annotations

import functools
import signal
import threading
from typing import Any

from ..journal.events import SignalSeen
from .session import Session

PART = "signals"
_WATCHED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1)


def watch(session: Session) -> None:
    """The script sees its own handlers: `getsignal` and `signal` hand them out as they were given."""
    install, installed = signal.signal, signal.getsignal

    @functools.wraps(install)
    def told(number: Any, handler: Any) -> Any:
        return _own(install(number, _telling(session, number, handler)))

    @functools.wraps(installed)
    def asked(number: Any) -> Any:
        return _own(installed(number))

    signal.signal, signal.getsignal = told, asked  # type: ignore[assignment]
    if threading.current_thread() is threading.main_thread():
        for number in _WATCHED:  # those that were there before the framework was imported
            if callable(installed(number)):
                told(number, installed(number))


def _telling(session: Session, number: Any, handler: Any) -> Any:
    """Python's own for SIGINT too: a script may catch its KeyboardInterrupt and leave as if it were done."""
    if number not in _WATCHED or not callable(handler) or hasattr(handler, "_holdfast_handler"):
        return handler

    def heard(came: int, frame: Any) -> Any:
        if session.role == "main" and not session.forked:
            session.seen["interrupted"] = session.seen.get("interrupted") or came == signal.SIGINT
            session.guard(PART, session.say, SignalSeen(signal=signal.Signals(came).name))
        return handler(came, frame)

    heard._holdfast_handler = handler  # type: ignore[attr-defined]
    return heard


def _own(handler: Any) -> Any:
    return getattr(handler, "_holdfast_handler", handler)
