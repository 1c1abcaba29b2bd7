"""Files on this machine or behind an fsspec URL, with the same few functions for both."""

from __future__ import annotations

import errno
import io
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from holdfast import atomic_write
from holdfast.data.files import bucket_names
from holdfast.errors import FileError, NotAFile, PathMissing, PermissionRefused, needs
from holdfast.regular_file import open_regular


def is_url(path: str) -> bool:
    """`gs://bucket/a` is a URL; `C:\\a` and `/a` are not."""
    return "://" in path


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise needs("fsspec", "data", "reading a URL") from None
    try:
        filesystem, inner = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise FileError(
            f"the storage of {url.split('://')[0]}:// needs a package that is not installed",
            where=url,
            found=str(error),
            change='pip install "holdfast[cloud]"',
        ) from None
    except (ValueError, OSError) as error:
        raise FileError("this URL cannot be opened", where=url, found=str(error)) from None
    return filesystem, inner


def open_binary(path: str) -> IO[bytes]:
    """The file, open for reading; a Holdfast error that names it when it cannot be opened."""
    try:
        if is_url(path):
            filesystem, inner = _filesystem(path)
            handle: IO[bytes] = filesystem.open(inner, "rb")
            return handle
        return open_regular(path)  # a FIFO or a device among the files of a dataset is an error, not a wait
    except OSError as error:
        raise as_file_error(error, path) from None


def as_file_error(error: OSError, path: str) -> FileError:
    if isinstance(error, FileNotFoundError):
        return PathMissing("there is no such file", where=path)
    if isinstance(error, IsADirectoryError):
        return NotAFile("a file was expected here, and this is a folder", where=path)
    if isinstance(error, PermissionError):
        return PermissionRefused("this user may not read the file", where=path, change=f"chmod +r {path!r}")
    if error.errno == errno.EINVAL and "not a regular file" in (error.strerror or ""):
        return NotAFile(f"a file was expected here: {error.strerror}", where=path)
    return FileError("the storage gave an error", where=path, found=str(error))


def read_bytes(path: str, offset: int = 0, length: int | None = None) -> bytes:
    with open_binary(path) as handle:
        try:
            if offset:
                handle.seek(offset)
            return handle.read() if length is None else handle.read(length)
        except OSError as error:
            raise as_file_error(error, path) from None


def write_bytes(path: str, data: bytes) -> None:
    """The whole file at once; a local one appears by a rename."""
    if is_url(path):
        filesystem, inner = _filesystem(path)
        try:
            filesystem.makedirs(inner.rsplit("/", 1)[0], exist_ok=True)
            filesystem.pipe_file(inner, data)
        except OSError as error:
            raise as_file_error(error, path) from None
        return
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic_write.write_bytes(target, data, sync=False)


def exists(path: str) -> bool:
    if is_url(path):
        filesystem, inner = _filesystem(path)
        return bool(filesystem.exists(inner))
    return os.path.exists(path)


def is_folder(path: str) -> bool:
    if is_url(path):
        filesystem, inner = _filesystem(path)
        known = bucket_names.anything_below(filesystem, inner)
        return bool(filesystem.isdir(inner)) if known is None else known
    return os.path.isdir(path)


def size(path: str) -> int | None:
    """In bytes; None of what is not there."""
    try:
        if is_url(path):
            filesystem, inner = _filesystem(path)
            return int(filesystem.size(inner) or 0)
        return os.stat(path).st_size
    except (OSError, ValueError):  # ValueError for a name that no file can have, with a null byte
        return None


def size_and_time(path: str) -> tuple[int, int] | None:
    """Size and time of last change (ns), the cache's key; None where the storage gives no time."""
    if is_url(path):
        return None
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


def join(folder: str, name: str) -> str:
    return folder.rstrip("/") + "/" + name if is_url(folder) else os.path.join(folder, name)


def parent(path: str) -> str:
    return path.rsplit("/", 1)[0] if is_url(path) else os.path.dirname(path)


def unreadable_folder(path: str) -> str:
    """The first folder on the way to a local path that this user may not look into; "" when none is in the way."""
    if is_url(path):
        return ""
    above = reversed(Path(os.path.abspath(path)).parents)
    return next((str(one) for one in above if os.path.isdir(one) and not os.access(one, os.X_OK)), "")


#: Not on any disk, and much of it refuses to be read.
_OF_THE_KERNEL = frozenset(("/proc", "/sys", "/dev"))


def walk(folder: str) -> Iterator[str]:
    """Every file below the folder, as paths relative to it with forward slashes, in a fixed order."""
    if is_url(folder):
        filesystem, inner = _filesystem(folder)
        yield from bucket_names.below(filesystem, inner)
        return
    seen: set[tuple[int, int]] = set()
    for here, folders, files in os.walk(folder, followlinks=True, onerror=_raise_refused):
        # Images are often linked in from another disk; a link that leads back up is followed once.
        status = os.stat(here)
        if (status.st_dev, status.st_ino) in seen or os.path.realpath(here) in _OF_THE_KERNEL:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        relative = Path(here).relative_to(folder).as_posix()
        for name in sorted(files):
            if not name.startswith("."):
                yield name if relative == "." else f"{relative}/{name}"


def _raise_refused(error: OSError) -> None:
    """A folder that may not be read would be taken for one that is not there."""
    path = str(error.filename or "")
    if isinstance(error, PermissionError) and os.path.basename(path) != "lost+found":
        raise PermissionRefused(
            "this user may not read a folder of the dataset",
            where=path,
            change=f"chmod u+rx {shlex.quote(path)}",
        )


def glob(pattern: str) -> list[str]:
    """The files that a pattern matches, sorted; a URL pattern works as a local one."""
    if is_url(pattern):
        filesystem, inner = _filesystem(pattern)
        return [filesystem.unstrip_protocol(found) for found in sorted(filesystem.glob(inner))]
    import glob as local

    return sorted(local.glob(pattern, recursive=True))


def as_stream(data: bytes) -> IO[bytes]:
    return io.BytesIO(data)
