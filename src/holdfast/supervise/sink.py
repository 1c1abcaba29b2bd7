"""A place that output goes to, with a writer of its own, so that a slow one does not hold up the others.

The rule: up to 16 MiB wait in memory. When that is full, the reader of the child waits with it, as a
terminal makes a program wait; but when the place has taken nothing at all for ten seconds (Ctrl-S, a pager
nobody turns, a dead mount), the child goes on and what does not fit is left out there, with a line
that says so when the place takes output again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

WAITING_BYTES = 16 * 1024 * 1024
STUCK_AFTER_S = 10.0
_RETRY_S = 5.0


class Sink:
    """`write` blocks as it likes in a thread; `put` never blocks for longer than the rule says."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        *,
        gap: Callable[[int], bytes],
        waiting_bytes: int = WAITING_BYTES,
        stuck_after_s: float = STUCK_AFTER_S,
        retry_s: float | None = None,
    ) -> None:
        self._write = write
        self._gap = gap
        self._room = waiting_bytes
        self._stuck_after_s = stuck_after_s
        self._retry_s = retry_s  # after an error: try again, or None to give the place up
        self._parts: deque[bytes] = deque()
        self._waiting = 0
        self._changed = threading.Condition()
        self._took = time.monotonic()
        self._closed = False
        self._busy = False
        self.lost_bytes = 0  # never written here
        self._gap_bytes = 0
        self.error: OSError | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, data: bytes) -> None:
        with self._changed:
            if self.error is not None and self._retry_s is None:
                self._lose(len(data))
                return
            while self._waiting + len(data) > self._room and self._waiting:
                left_s = self._took + self._stuck_after_s - time.monotonic()
                if left_s <= 0 or self.error is not None:
                    self._lose(len(data))
                    return
                self._changed.wait(left_s)
            if not self._waiting and not self._busy:
                self._took = time.monotonic()
            self._parts.append(data)
            self._waiting += len(data)
            self._changed.notify_all()

    def finish(self, *, within_s: float) -> None:
        """Waits until all is written, or the time is up."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(within_s)

    @property
    def empty(self) -> bool:
        with self._changed:
            return not self._waiting and not self._busy

    def _lose(self, count: int) -> None:
        self.lost_bytes += count
        self._gap_bytes += count

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._parts and not self._closed:
                    self._changed.wait()
                if not self._parts:
                    return
                data = self._parts.popleft()
                gap, self._gap_bytes = self._gap_bytes, 0
                self._busy = True
            self._deliver((self._gap(gap) if gap else b"") + data)
            with self._changed:
                self._waiting -= len(data)
                self._busy = False
                self._took = time.monotonic()
                self._changed.notify_all()

    def _deliver(self, data: bytes) -> None:
        try:
            self._write(data)
            self.error = None
        except OSError as error:
            self.error = error
            with self._changed:
                self._lose(len(data))
            if self._retry_s is not None and not self._closed:
                time.sleep(self._retry_s)
