"""Parts of files that somebody else wrote: regular files alone, a bounded number of bytes, and it never waits.

A run folder may come from a stranger or lie on a shared disk. A FIFO would block its reader for ever, a device has no
end, a link leads out of the folder. All of them are refused by an OSError that says so.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"), (stat.S_ISDIR, "a folder"),
          (stat.S_ISSOCK, "a socket"), (stat.S_ISLNK, "a link"))  # fmt: skip


@contextmanager
def opened(path: Path) -> Iterator[tuple[int, int]]:
    """Descriptor and size of a regular file."""
    try:
        fd = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link; a socket
            raise _refused(path, "a link" if error.errno == errno.ELOOP else "a socket") from error
        raise
    try:
        known = os.fstat(fd)
        if not stat.S_ISREG(known.st_mode):
            raise _refused(path, next((name for is_it, name in _KINDS if is_it(known.st_mode)), "no file"))
        yield fd, known.st_size
    finally:
        os.close(fd)


def _refused(path: Path, what: str) -> OSError:
    return OSError(errno.EINVAL, f"{path.name} is {what}, not a regular file", str(path))


def whole(path: Path, most: int) -> bytes:
    """Its bytes; OSError where there are more than `most`."""
    with opened(path) as (fd, size):
        if size > most:
            raise OSError(
                errno.EFBIG, f"{path.name} has {size:,} bytes; at most {most:,} are read", str(path)
            )
        return os.pread(fd, most, 0)


def head(path: Path, most: int) -> bytes:
    with opened(path) as (fd, _):
        return os.pread(fd, most, 0)


def tail(path: Path, most: int) -> bytes:
    with opened(path) as (fd, size):
        return os.pread(fd, most, max(0, size - most))


def last_lines(path: Path, most: int) -> list[bytes]:
    """Complete lines of the last `most` bytes: the first may be cut, the last may still be written."""
    with opened(path) as (fd, size):
        return lines_at(fd, size, max(0, size - most), most)


def lines_at(fd: int, size: int, start: int, most: int) -> list[bytes]:
    """Complete lines among `most` bytes from `start`."""
    read = os.pread(fd, min(most, max(0, size - start)), start)
    lines = read.split(b"\n")[:-1]
    return lines[1:] if start else lines
