"""Threads of the probe that `threading` does not know of.

A script may wait for every thread in `threading.enumerate()`, or until there is only one left. The probe's threads
must not be in that list, so they are started below it. `threading.current_thread()` would enter them there, and
so would a line of logging: what runs in one of them calls neither, and what a framework enters all the same is
taken out again by `forget`.
"""

from __future__ import annotations

import _thread
import contextlib
import threading
from collections.abc import Callable
from typing import Any


class HiddenThread:
    """A thread that is under way from its making on, and is not waited for when the process ends."""

    def __init__(self, work: Callable[..., Any], *args: Any) -> None:
        self._over = threading.Event()
        _thread.start_new_thread(self._run, (work, args))

    def join(self, timeout_s: float | None) -> None:
        self._over.wait(timeout_s)

    def _run(self, work: Callable[..., Any], args: tuple[Any, ...]) -> None:
        try:
            work(*args)
        finally:
            forget()
            self._over.set()


def forget() -> None:
    """Takes the calling thread out of the list, if something has asked `threading` who it is."""
    known: dict[int, Any] = threading._active  # type: ignore[attr-defined]
    if isinstance(known.get(threading.get_ident()), threading._DummyThread):
        with contextlib.suppress(KeyError):
            del known[threading.get_ident()]


def in_main() -> bool:
    """Whether the main thread is calling. `threading.current_thread()` would enter a thread that is not listed."""
    return threading.get_ident() == threading.main_thread().ident
