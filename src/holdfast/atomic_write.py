"""A file appears under its name complete, by a rename, or not at all.

The content goes to a new file with a random name in the same folder. The folder may be a stranger's: a run that
somebody sent can hold a symbolic link under any name that is known beforehand, and writing through it overwrites
a file of whoever looks at the run. A destination that is a link is replaced itself; what it points to stays.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700  # of run folders: they hold commands, output and source
_TRIES = 16  # 64 random bits: a second try is luck or somebody's aim, and a tenth is neither
_NO_FSYNC = (
    errno.EINVAL,
    errno.ENOSYS,
    errno.ENOTSUP,
)  # file systems that do not know it; the rename still holds


def write_text(
    path: Path, text: str, *, errors: str = "strict", sync: bool = True, private: bool = False
) -> None:
    """In UTF-8, whatever the locale."""
    write_bytes(path, text.encode("utf-8", errors), sync=sync, private=private)


def write_bytes(path: Path, data: bytes, *, sync: bool = True, private: bool = False) -> None:
    with replacing(path, sync=sync, private=private) as file:
        file.write(data)


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """A file of a run folder, made where it is not there: for its owner alone, and never through a link or a FIFO."""
    return os.open(path, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, PRIVATE_FILE)


def make_private_folder(path: Path) -> None:
    """With what is above it, which gets the usual mode; a folder that is there keeps its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def random_sibling(path: Path) -> Path:
    """A hidden name beside `path` that nobody can know beforehand, for what is renamed to it when it is whole."""
    return _temporary(path)


def leftovers(path: Path) -> list[Path]:
    """What writers of `path` that were killed left beside it. Only for who knows that nobody writes it now."""
    return [one for one in path.parent.glob(f".{glob.escape(path.name[:40])}.*.part") if one.is_file()]


def temporary_folder() -> Path:
    """The folder for temporary files. `tempfile` raises where none takes one now, as on a full disk."""
    import tempfile  # loads much that the user's process need not

    try:
        return Path(tempfile.gettempdir())
    except OSError:
        return Path(os.environ.get("TMPDIR") or "/tmp")


def try_to_write(folder: Path) -> None:
    """OSError where the folder takes no files: permissions alone say yes to root where a file system says no."""
    tried = _temporary(folder / "try")
    os.close(os.open(tried, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE_FILE))
    os.unlink(tried)


@contextlib.contextmanager
def replacing(path: Path, *, sync: bool = True, private: bool = False) -> Iterator[BinaryIO]:
    """A file to write into; at the end of the block it takes the place of `path`, after an error nothing does.

    Without `sync` a power cut may leave an empty file: for what is written often, or by those who must not wait for a
    disk that hangs. An OSError names `path`, not the temporary file.
    """
    temporary: Path | None = None
    try:
        fd, temporary = _new_file(path, PRIVATE_FILE if private else 0o666)
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            if sync:
                _sync(fd)
        os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError) and (temporary is None or error.filename in (None, str(temporary))):
            error.filename = str(path)
            del error.filename2  # None would be printed as "-> None"
        raise


def _new_file(path: Path, mode: int) -> tuple[int, Path]:
    """Opened by O_EXCL, which takes no name that exists, as a link neither. The mode is the umask's to narrow."""
    for _ in range(_TRIES):
        temporary = _temporary(path)
        with contextlib.suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            return os.open(temporary, flags, mode), temporary
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def _temporary(path: Path) -> Path:
    """Beside `path`, since a rename does not leave its file system. Shortened: four bytes a letter at most, of 255."""
    return path.with_name(f".{path.name[:40]}.{os.urandom(8).hex()}.part")


def _sync(fd: int) -> None:
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_FSYNC:
            raise


@contextlib.contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """A full disk does not say which: an error in here that names no file names this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
