"""Calls in a thread of their own, for what may take long or hang: a driver, a mount whose server is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """Calls `function` once. After `done`, either `result` or `error` is set."""

    def __init__(self, function: Callable[[], T]) -> None:
        self.started_at = time.monotonic()
        self.result: T | None = None
        self.error: Exception | None = None
        self._function = function
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, timeout_s: float) -> bool:
        """Whether it is done."""
        self._thread.join(timeout_s)
        return self.done

    def _run(self) -> None:
        try:
            self.result = self._function()
        except Exception as error:
            self.error = error


class PeriodicReader(Generic[T]):
    """Calls `read` every `every_s`. `latest` is the newest answer, however old."""

    def __init__(self, read: Callable[[], T], first: T, *, every_s: float) -> None:
        self.latest = first
        self._read = read
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            self.latest = self._read()
