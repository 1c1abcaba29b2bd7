"""Where a model file is, and where an export may go: said before Keras is imported. Standard library alone."""

from __future__ import annotations

import json
import os
import shlex
import zipfile
from pathlib import Path
from typing import Any

from holdfast import atomic_write
from holdfast.errors import AlreadyThere, NotAFolder, PathMissing, PermissionRefused
from holdfast.journal.folder import RunFolder

#: What a run calls its model.
MODEL_NAME = "model.npz"
#: What describes the detector, in the file.
SPEC_NAME = "holdfast.json"


def find_model(path: Path) -> Path:
    """The model file that a path means: itself, or the one that a run's folder holds."""
    if path.is_dir():
        held = path / MODEL_NAME
        if not held.is_file():
            raise PathMissing(
                "the folder holds no trained model",
                where=path,
                found=f"no {MODEL_NAME} in it",
                change="give a run that has saved a model, or a model file itself",
            )
        return held
    if not path.is_file():
        raise PathMissing(
            "there is no model or run at this path", where=path, change="give a run, or a model file"
        )
    return path


def initial_model(weights: str | None) -> Path | None:
    """The model file that `model.weights` names: a run's, or one by itself. None where it names something else."""
    path = Path(weights) if weights else None
    if path is None or not path.exists():
        return None
    if path.is_file():
        return path if path.suffix == ".npz" else None
    if (path / MODEL_NAME).is_file():
        return path / MODEL_NAME
    if RunFolder(path).journal.is_file():
        raise PathMissing(
            "the run has not ended, and a run writes its model at its end",
            where=path,
            found=f"no {MODEL_NAME} in it",
            change=f"holdfast train --resume --run-dir {shlex.quote(str(path))} ends it; then start this one again",
        )
    return None


def read_spec(path: Path) -> dict[str, Any]:
    """What a model file says of its detector, without numpy; nothing where it is no such file."""
    try:
        with zipfile.ZipFile(path) as archive:
            stored = archive.read(f"{SPEC_NAME}.npy")
        found = json.loads(stored[stored.index(b"\n") + 1 :])  # after numpy's own header, which ends the line
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return {}
    return found if isinstance(found, dict) else {}


def check_target(path: Path, what: str = "the export") -> None:
    """Before minutes are spent: nothing is there, and something can be written there."""
    if os.path.lexists(path):
        raise AlreadyThere(f"{what} would overwrite something", where=path, change="name a path that is free")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise PathMissing("the folder to write into does not exist", where=folder, change="make it first")
    try:
        atomic_write.try_to_write(folder)
    except OSError as error:
        raise PermissionRefused(
            "the folder to write into takes no files",
            where=folder,
            found=error.strerror or str(error),
            change="name a path in a folder of yours",
        ) from error


def make_folder(path: Path) -> None:
    """For images to be drawn into; it may be there."""
    if path.exists() and not path.is_dir():
        raise NotAFolder(
            "images are drawn into a folder, and this is a file", where=path, change="name a folder"
        )
    path.mkdir(parents=True, exist_ok=True)
