"""`output.log`: what the child printed, capped so that a chatty run cannot fill the disk.

The rule: the first 64 MiB and at least the last 32 MiB are kept, with a line in between that says how much was
dropped. The file is never larger than 128 MiB and that line. The first and the last output explain how a run ended.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.atomic_write import open_private

MIB = 1024 * 1024
HEAD_BYTES = 64 * MIB
TAIL_BYTES = 32 * MIB
_COPY_BYTES = MIB
_MARKER = re.compile(rb"\n\[holdfast: (\d+) bytes left out here[^\n]*\n")


class CappedLog:
    """Appends to a file, and moves the tail up when it is twice as long as needed."""

    def __init__(self, path: Path, *, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        self._fd = open_private(path, os.O_RDWR)
        self._end = os.lseek(self._fd, 0, os.SEEK_END)  # a second attempt appends to the first
        self._head = head_bytes
        self._tail = tail_bytes
        self._tail_start = self._head
        self._dropped = 0
        marker = _MARKER.match(os.pread(self._fd, 256, self._head))
        if marker is not None:
            self._tail_start += marker.end()
            self._dropped = int(marker[1])

    def write(self, data: bytes) -> None:
        """Appends all of it. Raises OSError when the disk is full."""
        view = memoryview(data)
        while view:
            written = os.pwrite(self._fd, view, self._end)
            if written == 0:
                raise OSError(28, "No space left on device")
            self._end += written
            view = view[written:]
        if self._end - self._tail_start >= 2 * self._tail:
            self._move_tail_up()

    def close(self) -> None:
        os.close(self._fd)

    def _move_tail_up(self) -> None:
        keep_from = self._end - self._tail
        self._dropped += keep_from - self._tail_start
        marker = _marker(self._dropped, self._head, self._tail)
        target = self._head + len(marker)
        length = self._end - keep_from
        if target < keep_from:
            os.pwrite(self._fd, marker, self._head)
            for offset in range(0, length, _COPY_BYTES):
                part = os.pread(self._fd, min(_COPY_BYTES, length - offset), keep_from + offset)
                os.pwrite(self._fd, part, target + offset)
            os.ftruncate(self._fd, target + length)
            self._end = target + length
            self._tail_start = target


def _marker(dropped: int, head: int, tail: int) -> bytes:
    text = f"[holdfast: {dropped} bytes left out here; the log keeps the first {head} and the last {tail}]"
    return f"\n{text:<110}\n".encode()  # of constant length, so that a larger count can overwrite it
