"""A place that output goes to, with a writer of its own, so that a slow one does not hold up the others.

The rule: up to 16 MiB wait in memory. When that is full, the reader of the child waits with it, as a
terminal makes a program wait; but when the place has taken nothing at all for ten seconds (Ctrl-S, a pager
nobody turns, a dead mount), the child goes on and what does not fit is left out there, with a line
that says so when the place takes output again, or at the end.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

MAX_PENDING_BYTES = 16 * 1024 * 1024
STUCK_AFTER_S = 10.0
_RETRY_S = 5.0


class BackgroundWriter:
    """`write` blocks as it likes in a thread; `put` never blocks for longer than the rule says."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        *,
        gap: Callable[[int], bytes],
        waiting_bytes: int = MAX_PENDING_BYTES,
        stuck_after_s: float = STUCK_AFTER_S,
        retry_s: float | None = None,
    ) -> None:
        self._write = write
        self._gap = gap
        self._room = waiting_bytes
        self._stuck_after_s = stuck_after_s
        self._retry_s = retry_s  # after an error: try again, or None to give the place up
        self._parts: deque[tuple[int, bytes]] = deque()  # how much is missing before it, and what it is
        self._waiting = 0
        self._changed = threading.Condition()
        self._took = time.monotonic()
        self._closed = False
        self._busy = False
        self.lost_bytes = 0  # never written here
        self._left_out = 0  # of these, what had no room since the last part that had
        self._refused = 0  # and what the place did not take, since it last took something
        self.error: OSError | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, data: bytes) -> None:
        with self._changed:
            if self.error is not None and self._retry_s is None:
                self._leave_out(len(data))
                return
            while self._waiting + len(data) > self._room and self._waiting:
                left_s = self._took + self._stuck_after_s - time.monotonic()
                if left_s <= 0 or self.error is not None:
                    self._leave_out(len(data))
                    return
                self._changed.wait(left_s)
            if not self._waiting and not self._busy:
                self._took = time.monotonic()
            self._parts.append((self._left_out, data))
            self._left_out = 0
            self._waiting += len(data)
            self._changed.notify_all()

    def finish(self, *, within_s: float | None) -> bool:
        """Waits until all is written, or the time is up; None waits as long as the place takes. True: all was tried."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def leave_out_rest(self) -> None:
        """Drops what still waits; the line that says so comes once the place takes output again."""
        with self._changed:
            for before, data in self._parts:
                self._left_out += before
                self._leave_out(len(data))
                self._waiting -= len(data)
            self._parts.clear()

    @property
    def empty(self) -> bool:
        with self._changed:
            return not self._waiting and not self._busy

    def _leave_out(self, count: int) -> None:
        self.lost_bytes += count
        self._left_out += count

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._parts and not self._closed:
                    self._changed.wait()
                if not self._parts:
                    missing, self._left_out = self._left_out, 0
                    break
                missing, data = self._parts.popleft()
                self._busy = True
            self._deliver(missing, data)
            with self._changed:
                self._waiting -= len(data)
                self._busy = False
                self._took = time.monotonic()
                self._changed.notify_all()
        given_up = self.error is not None and self._retry_s is None
        if missing + self._refused and not given_up:
            self._deliver(missing, b"")

    def _deliver(self, missing: int, data: bytes) -> None:
        """With the line in front that says how much is missing there; what fails is told by the next that works."""
        missing += self._refused
        try:
            self._write((self._gap(missing) if missing else b"") + data)
            self.error = None
            self._refused = 0
        except OSError as error:
            self.error = error
            self._refused = missing + len(data)
            with self._changed:
                self.lost_bytes += len(data)
            if self._retry_s is not None and not self._closed:
                time.sleep(self._retry_s)
