"""What has been added to a file of lines since the last look; of a file that is long at the first look, a part."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.board import bounded_read

WHOLE_BYTES = 8 << 20
_HEAD_BYTES, _TAIL_BYTES = 256 << 10, 768 << 10
_WINDOWS, _WINDOW_BYTES = 500, 6 << 10
_READ_BYTES = 4 << 20  # at one look


class GrownFile:
    """`lines` gives complete lines once each, in order. `more` says that another look would give some now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.more = False
        self.sampled = False  # of the file as it was at the first look, only a part was read
        self.trouble = ""
        self._offset = 0

    def lines(self) -> list[bytes]:
        """OSError never: what cannot be read adds nothing, and `trouble` says why."""
        try:
            with bounded_read.opened(self.path) as (fd, size):
                self.trouble = ""
                if size < self._offset:
                    self._offset = 0  # it was cut: another run's file under the same name
                if self._offset == 0 and size > WHOLE_BYTES:
                    return self._sample(fd, size)
                return self._next(fd, size)
        except FileNotFoundError:
            return []
        except OSError as error:
            self.trouble = error.strerror or str(error)
            return []

    def _next(self, fd: int, size: int) -> list[bytes]:
        added = os.pread(fd, min(_READ_BYTES, size - self._offset), self._offset)
        *read, rest = added.split(b"\n")
        if not read and len(added) == _READ_BYTES:  # no line is so long: noise, and it is skipped
            rest = b""
        self._offset += len(added) - len(rest)
        self.more = self._offset + len(rest) < size
        return read

    def _sample(self, fd: int, size: int) -> list[bytes]:
        """The head, lines at even distances, and the tail."""
        lines = bounded_read.lines_at(fd, size, 0, _HEAD_BYTES)
        middle = size - _HEAD_BYTES - _TAIL_BYTES
        for at in range(_WINDOWS):
            start = _HEAD_BYTES + at * middle // _WINDOWS
            lines += bounded_read.lines_at(fd, min(size, start + _WINDOW_BYTES), start, _WINDOW_BYTES)
        tail = bounded_read.lines_at(fd, size, size - _TAIL_BYTES, _TAIL_BYTES)
        self._offset = size - self._unfinished(fd, size)
        self.sampled = True
        return lines + tail

    @staticmethod
    def _unfinished(fd: int, size: int) -> int:
        """Bytes of the last line, which is still being written."""
        end = os.pread(fd, 1 << 16, max(0, size - (1 << 16)))
        return len(end) - (end.rfind(b"\n") + 1)
