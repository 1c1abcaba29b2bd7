"""Something that takes a while, done beside the main loop, so that Ctrl-C is answered meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """Runs `work` in a thread of its own. `result` is there once `done` says so, unless `error` is."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.began = time.monotonic()
        self.result: T | None = None
        self.error: Exception | None = None
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return self.done

    def _run(self) -> None:
        try:
            self.result = self._work()
        except Exception as error:
            self.error = error
