"""The last state of a run whose own folder takes nothing any more: it is put where there is room."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import DiskFull, FileError, PermissionRefused
from holdfast.train import checkpoints
from holdfast.train.checkpoints import Snapshot


def save(snapshot: Snapshot, run: str, places: Sequence[Path] | None = None) -> Path | None:
    """The checkpoint's path in the first place that takes it; None when none does."""
    for place in places if places is not None else (Path(tempfile.gettempdir()), Path.home()):
        try:
            return checkpoints.write(place / f"holdfast-{run}", snapshot)
        except OSError:
            continue
    return None


def unsaved(folder: Path, step: int, kept: Path | None, why: OSError | None = None) -> FileError:
    """The answer at the end of such a run. `why` is what the last try to save ended with."""
    refused = why is not None and why.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    first = "make the folder one that may be written" if refused else "free some space"
    what = f"training is at step {step}, and that state could not be saved"
    found = [why.strerror or str(why)] if why is not None else []
    change = f"{first}, then `holdfast train --resume` goes on from the newest checkpoint"
    if kept is not None:
        what += " in the run's folder"
        found.append(f"the state was saved as {kept} instead")
        change = f"{first}, `mv {kept} {folder}/`, then `holdfast train --resume` ends the run from it"
    return (PermissionRefused if refused else DiskFull)(what, where=folder, found=found, change=change)
