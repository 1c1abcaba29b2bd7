"""What an attached process prints, where that goes to a file: its end, and what comes after, copied to output.log.

Nothing is taken away from anybody: a pipe or a terminal is left alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from holdfast.atomic_write import open_private
from holdfast.secret_text import redacted_bytes

_KEPT_BYTES = 256 * 1024  # of what was printed before
_MAX_BYTES = 64 << 20  # in all
_AT_ONCE_BYTES = 1 << 20


class OutputCopy:
    def __init__(self, pid: int, path: Path) -> None:
        self._path = path
        self._copied = 0
        self._from = _open_output(pid)
        self._to: int | None = None
        self._position = 0
        if self._from is not None:
            self._position = max(0, os.fstat(self._from).st_size - _KEPT_BYTES)

    def update(self) -> int:
        """Copies what is new; returns the bytes that were printed so far, as far as they can be seen."""
        if self._from is None:
            return 0
        with contextlib.suppress(OSError):
            size = os.fstat(self._from).st_size
            if size < self._position:  # it was emptied, or rotated
                self._position = 0
            while self._position < size and self._copied < _MAX_BYTES:
                data = os.pread(self._from, _AT_ONCE_BYTES, self._position)
                if not data:
                    break
                self._write(data)
            return size
        return self._position

    def close(self) -> None:
        for descriptor in (self._from, self._to):
            if descriptor is not None:
                os.close(descriptor)
        self._from = self._to = None

    def _write(self, data: bytes) -> None:
        if self._to is None:
            self._to = open_private(self._path, os.O_WRONLY | os.O_APPEND)
        os.write(self._to, redacted_bytes(data))
        self._position += len(data)
        self._copied += len(data)


def _open_output(pid: int) -> int | None:
    """Of standard error where it is another file than standard output: tracebacks and warnings go there."""
    for number in (2, 1):
        path = f"/proc/{pid}/fd/{number}"
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
    return None
