"""The last state of a run whose own folder takes nothing any more: it is put where there is room."""

from __future__ import annotations

import errno
import hashlib
import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import DiskFull, FileError, PermissionRefused
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import Snapshot


def save_emergency_copy(snapshot: Snapshot, run: Path, places: Sequence[Path] | None = None) -> Path | None:
    """The checkpoint's path in the first place that takes it; None when none does. Two runs that are called alike have
    different places."""
    name = f"holdfast-{run.name}-{hashlib.sha256(os.fsencode(run.absolute())).hexdigest()[:8]}"
    for place in places if places is not None else (Path(tempfile.gettempdir()), Path.home()):
        try:
            return checkpoint_files.write(place / name, snapshot)
        except OSError:
            continue
    return None


def unsaved_error(folder: Path, step: int, kept: Sequence[Path], why: OSError | None = None) -> FileError:
    """The answer at the end of such a run. `kept` are the newest state and, if it was pending too, the best one; `why`
    is what the last try to save ended with, and None where the disk was only slow."""
    refused = why is not None and why.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    first = "make the folder one that may be written" if refused else "free some space"
    first = first if why is not None else "wait until the disk takes data again"
    what = f"training is at step {step}, and that state could not be saved"
    found = (
        [why.strerror or str(why)]
        if why is not None
        else ["the disk took nothing in the time that there was"]
    )
    change = f"{first}, then `holdfast train --resume` goes on from the newest checkpoint"
    if kept:
        what += " in the run's folder"
        found.append(f"the state was saved as {kept[0]} instead")
        found += [f"the best so far was saved as {best}" for best in kept[1:]]
        moved = shlex.join(["mv", *map(str, kept), f"{folder}/"])
        change = f"{first}, `{moved}`, then `holdfast train --resume` ends the run from it"
    return (PermissionRefused if refused else DiskFull)(what, where=folder, found=found, change=change)
