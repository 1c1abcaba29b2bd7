"""Saves the last state of a run elsewhere, when its own folder can no longer be written."""

from __future__ import annotations

import errno
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from holdfast.atomic_write import temporary_folder
from holdfast.errors import DiskFull, FileError, PermissionRefused
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import Snapshot


def save_emergency_copy(snapshot: Snapshot, run: Path, folders: Sequence[Path] | None = None) -> Path | None:
    """The checkpoint's path in the first folder that can be written; None when none can.

    The temporary folder is everybody's: a name that another user can know beforehand can be a link of theirs, and what
    is moved back from there would be theirs to change. So each state gets a new folder with a random name.
    """
    for folder in folders if folders is not None else (temporary_folder(), Path.home()):
        made: Path | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(prefix=f"holdfast-{run.name[:60]}-", dir=folder))
            return checkpoint_files.write(made, snapshot)
        except OSError:
            if made is not None:
                shutil.rmtree(made, ignore_errors=True)
    return None


def unsaved_error(
    folder: Path, step: int, saved_paths: Sequence[Path], failure: OSError | None = None
) -> FileError:
    """The error that ends such a run. `saved_paths` are the newest state and, if it was pending too, the best one;
    `failure` is the error of the last try to save, None when the disk was only slow."""
    refused = failure is not None and failure.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    first = "make the folder writable" if refused else "free some space"
    first = first if failure is not None else "wait until the disk responds again"
    what = f"training is at step {step}, and that state could not be saved"
    found = (
        [failure.strerror or str(failure)]
        if failure is not None
        else ["the disk wrote nothing in the time available"]
    )
    change = f"{first}, then `holdfast train --resume` continues from the newest checkpoint"
    if saved_paths:
        what += " in the run's folder"
        found.append(f"the state was saved as {saved_paths[0]} instead")
        found += [f"the best so far was saved as {best}" for best in saved_paths[1:]]
        moved = shlex.join(["mv", *map(str, saved_paths), f"{folder}/"])
        change = f"{first}, `{moved}`, then `holdfast train --resume` continues from it"
    return (PermissionRefused if refused else DiskFull)(what, where=folder, found=found, change=change)
