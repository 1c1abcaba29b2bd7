"""Reads files that somebody else may have put there: opening never waits, and memory is bounded before it is taken.

A run folder or a dataset may be a stranger's: in the place of a file there can be a FIFO, at which `open` waits for
ever, a device without an end, or a link to a private file of whoever looks. Each is an OSError with a text that says
what is there, like that of a file which cannot be read.
"""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import struct
import tokenize
import zlib
from pathlib import Path
from typing import Any

#: What numpy and zipfile raise for archives that are no archives, beside OSError and BadZipFile.
UNREADABLE_ARCHIVE = (
    ValueError, LookupError, TypeError, AttributeError, EOFError, ArithmeticError, MemoryError, RecursionError,
    NotImplementedError, RuntimeError, struct.error, zlib.error, tokenize.TokenError,
)  # fmt: skip
BOMB_BYTES, BOMB_TIMES = 256 << 20, 50
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: Path | str, *, links: bool = True) -> io.BufferedReader:
    """The file, for reading. Without `links` a symbolic link is refused: it may lead to a file of the reader's own."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags)
    except ValueError:
        raise FileNotFoundError(errno.ENOENT, "no file can have this name", str(path)) from None
    except OSError as error:
        if error.errno == errno.ELOOP and not links:
            raise OSError(
                errno.ELOOP, "this is a symbolic link, which is not followed here", str(path)
            ) from None
        if error.errno == errno.ENXIO:
            raise OSError(errno.EINVAL, "this is a socket, not a regular file", str(path)) from None
        raise
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            kind = _KINDS.get(stat.S_IFMT(mode), "something else")
            raise OSError(errno.EINVAL, f"this is {kind}, not a regular file", str(path))
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read_bytes(path: Path | str, *, most: int, links: bool = True) -> bytes:
    """All of it; an OSError (EFBIG) where that is more than `most` bytes."""
    with open_regular(path, links=links) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 10:,} KiB, and was not read", str(path))
    return data


def read_text(path: Path | str, *, most: int, links: bool = True) -> str:
    return read_bytes(path, most=most, links=links).decode("utf-8", "replace")


def read_json(path: Path | str, *, most: int, links: bool = True) -> Any:
    """ValueError for whatever is not JSON, brackets a hundred thousand levels deep too."""
    return parse_json(read_bytes(path, most=most, links=links))


def parse_json(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def refuse_bomb(archive: Path) -> None:
    """ValueError for a zip file that unpacks to far more than it holds: weights hardly shrink, endless zeros do."""
    import zipfile  # rarely needed

    with zipfile.ZipFile(archive) as content:
        members = content.infolist()
    whole, packed = sum(one.file_size for one in members), sum(one.compress_size for one in members)
    if whole > BOMB_BYTES and whole > BOMB_TIMES * packed:
        raise ValueError(f"it unpacks to {whole >> 20:,} MiB from {packed >> 20:,} MiB, as no weights do")


def names_in(folder: Path) -> list[str]:
    """Sorted; none where the folder is not there, may not be read, or is a link."""
    if folder.is_symlink():
        return []
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
