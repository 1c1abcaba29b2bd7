"""A destination of output with a thread of its own, so that a slow one does not block the others.

The rule: up to 16 MiB are buffered in memory. When the buffer is full, the reader of the command's output waits, as a
terminal makes a program wait. When the destination has accepted nothing at all for ten seconds (Ctrl-S, a pager, a
dead mount), the command continues and what does not fit is dropped there. A line says so when the destination accepts
output again, or at the end.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

MAX_PENDING_BYTES = 16 * 1024 * 1024
STUCK_AFTER_S = 10.0


class BackgroundWriter:
    """`write` may block in a thread; `put` never blocks for longer than the rule allows."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        *,
        gap_line: Callable[[int], bytes],
        max_pending_bytes: int = MAX_PENDING_BYTES,
        stuck_after_s: float = STUCK_AFTER_S,
        retry_s: float | None = None,
    ) -> None:
        self._write = write
        self._gap_line = gap_line
        self._max_pending_bytes = max_pending_bytes
        self._stuck_after_s = stuck_after_s
        self._retry_s = retry_s  # after an error: try again, or None to give up
        self._parts: deque[tuple[int, bytes]] = deque()  # bytes dropped before it, and the data
        self._pending_bytes = 0
        self._changed = threading.Condition()
        self._accepted_at = time.monotonic()
        self._closed = False
        self._busy = False
        self.lost_bytes = 0  # never written here
        self._dropped = 0  # of these, since the last part that fitted
        self._refused = 0  # and those that could not be written, since the last write that worked
        self.error: OSError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, data: bytes) -> None:
        with self._changed:
            if self.error is not None and self._retry_s is None:
                self._drop(len(data))
                return
            while self._pending_bytes + len(data) > self._max_pending_bytes and self._pending_bytes:
                wait_s = self._accepted_at + self._stuck_after_s - time.monotonic()
                if wait_s <= 0 or self.error is not None:
                    self._drop(len(data))
                    return
                self._changed.wait(wait_s)
            if not self._pending_bytes and not self._busy:
                self._accepted_at = time.monotonic()
            self._parts.append((self._dropped, data))
            self._dropped = 0
            self._pending_bytes += len(data)
            self._changed.notify_all()

    def finish(self, *, timeout_s: float | None) -> bool:
        """Waits until all is written, or the timeout; None waits as long as it takes. True: every write was tried."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def drop_pending(self) -> None:
        """Drops what is still buffered; the line that says so comes once the destination accepts output again."""
        with self._changed:
            for before, data in self._parts:
                self._dropped += before
                self._drop(len(data))
                self._pending_bytes -= len(data)
            self._parts.clear()

    @property
    def empty(self) -> bool:
        with self._changed:
            return not self._pending_bytes and not self._busy

    def _drop(self, count: int) -> None:
        self.lost_bytes += count
        self._dropped += count

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._parts and not self._closed:
                    self._changed.wait()
                if not self._parts:
                    missing, self._dropped = self._dropped, 0
                    break
                missing, data = self._parts.popleft()
                self._busy = True
            self._deliver(missing, data)
            with self._changed:
                self._pending_bytes -= len(data)
                self._busy = False
                self._accepted_at = time.monotonic()
                self._changed.notify_all()
        given_up = self.error is not None and self._retry_s is None
        if missing + self._refused and not given_up:
            self._deliver(missing, b"")

    def _deliver(self, missing: int, data: bytes) -> None:
        """After a line that says how much is missing before it; the next write that works reports a failed one."""
        missing += self._refused
        try:
            self._write((self._gap_line(missing) if missing else b"") + data)
            self.error = None
            self._refused = 0
        except OSError as error:
            self.error = error
            self._refused = missing + len(data)
            with self._changed:
                self.lost_bytes += len(data)
            if self._retry_s is not None and not self._closed:
                time.sleep(self._retry_s)
