"""Where a model file is, and where an export may go: said before Keras is imported. Standard library alone."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import AlreadyThere, PathMissing

#: What a run calls its model.
MODEL_NAME = "model.npz"


def find(path: Path) -> Path:
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


def check_target(path: Path) -> None:
    """Before minutes are spent: nothing is there, and something can be written there."""
    if path.exists():
        raise AlreadyThere(
            "the export would overwrite something", where=path, change="name a path that is free"
        )
    if not path.absolute().parent.is_dir():
        raise PathMissing(
            "the folder to export into does not exist", where=path.absolute().parent, change="make it first"
        )
