"""One trainer at a time in a run folder: two would write into each other's checkpoints and journal.

The lock belongs to the process and is released however it ends; forked processes do not inherit it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from pathlib import Path
from typing import IO

from holdfast.atomic_write import open_private
from holdfast.errors import HoldfastError

LOCK_FILE = "trainer.lock"


class RunInUse(HoldfastError):
    slug = "run-in-use"


def acquire_lock(folder: Path) -> IO[str] | None:
    """The lock, while the file is open. None where files cannot be written or locked, which stops no run."""
    path = folder / LOCK_FILE
    try:
        file = os.fdopen(open_private(path, os.O_RDWR | os.O_APPEND), "a+")
    except OSError:
        return None
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        file.seek(0)
        raise RunInUse(
            "another trainer is running in this folder",
            where=folder,
            found=f"{path.name} is held by {file.read(200).strip() or 'another process'}",
            change="`holdfast top` shows it; wait until it ends or stop it, or train in another --run-dir",
        ) from None
    except OSError:
        return None
    with contextlib.suppress(OSError):  # on a full disk it is locked all the same
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
    return file


def refuse_if_locked(folder: Path) -> None:
    """Raises when a trainer is running there, before anything is written."""
    file = acquire_lock(folder) if folder.is_dir() else None
    if file is not None:
        file.close()
