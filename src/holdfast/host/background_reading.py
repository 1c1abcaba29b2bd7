"""Readings that may hang (a driver that does not answer, a mount whose server is gone) in a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PeriodicReader(Generic[T]):
    """Calls `read` every so often; `latest` is the newest answer, however old."""

    def __init__(self, read: Callable[[], T], first: T, *, every_s: float) -> None:
        self.latest = first
        self._read = read
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def _work(self) -> None:
        while not self._stop.wait(self._every_s):
            self.latest = self._read()
