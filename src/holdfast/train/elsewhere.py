"""The last state of a run whose own folder takes nothing any more: it is put where there is room."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import DiskFull
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


def unsaved(folder: Path, step: int, kept: Path | None) -> DiskFull:
    """The answer at the end of such a run."""
    found = ["the reasons stand in the journal as save_failed"]
    change = ["free some space, then `holdfast train --resume` goes on from the newest checkpoint"]
    if kept is not None:
        found.append(f"the state was saved as {kept} instead")
        change = [
            f"free some space, `mv {kept} {folder}/`, then `holdfast train --resume` ends the run from it"
        ]
    return DiskFull(
        f"training is at step {step}, and that state could not be saved in the run's folder"
        if kept is not None
        else f"training is at step {step}, and that state could not be saved",
        where=folder,
        found=found,
        change=change,
    )
