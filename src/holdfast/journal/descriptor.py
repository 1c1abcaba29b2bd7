"""A file descriptor inside the user's program: it is ours, or it is known to be lost.

A script may close descriptors that it has not opened (`os.closerange(3, 256)`, as daemons do), and the next file that
it opens gets our number. So the file behind the number is compared with the one that was opened, each time before
something is written to it, and before it is closed.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path


class OwnDescriptor:
    """`number` is valid right after `stat`."""

    def __init__(self, path: Path, flags: int) -> None:
        self._path = os.path.abspath(path)  # a daemon changes its working folder too
        self._flags = flags
        self.number = _open(self._path, flags | os.O_CREAT)
        self._file = _identity(os.fstat(self.number))

    def stat(self) -> os.stat_result:
        """Of the file, which is reopened when the script has closed it. Raises OSError when it does not exist."""
        stat = self._own_stat()
        if stat is None:
            self.number = self._reopened()
            stat = os.fstat(self.number)
        return stat

    @property
    def lost(self) -> bool:
        """Closed by the script, which may use the number by now."""
        return self._own_stat() is None

    def close(self) -> None:
        if self._own_stat() is not None:
            os.close(self.number)
        self.number = -1

    def _own_stat(self) -> os.stat_result | None:
        """None when the number is not our file any more."""
        try:
            stat = os.fstat(self.number)
        except OSError:
            return None
        return stat if _identity(stat) == self._file else None

    def _reopened(self) -> int:
        """The same file; in a changed root, or after it was removed, the path may lead to another or to none."""
        number = _open(self._path, self._flags)
        if _identity(os.fstat(number)) != self._file:
            os.close(number)
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self._path)
        return number


def _open(path: str, flags: int) -> int:
    """Never 0, 1 or 2: a script that has closed those opens them again, and relies on getting their numbers."""
    number = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    if number > 2:
        return number
    import fcntl  # rarely needed

    try:
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(number)


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


def same_file(number: int, other: int) -> bool:
    with contextlib.suppress(OSError):
        return _identity(os.fstat(number)) == _identity(os.fstat(other))
    return False
