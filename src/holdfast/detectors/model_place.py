"""Where a model file is, and where an export may go: said before Keras is imported. Standard library alone."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import AlreadyThere, NotAFolder, PathMissing, PermissionRefused

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


def check_target(path: Path, what: str = "the export") -> None:
    """Before minutes are spent: nothing is there, and something can be written there."""
    if path.exists():
        raise AlreadyThere(f"{what} would overwrite something", where=path, change="name a path that is free")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise PathMissing("the folder to write into does not exist", where=folder, change="make it first")
    # Asking for permission says yes to root where a file system says no.
    tried = folder / f".{path.name}.partial"
    try:
        tried.touch(exist_ok=True)
        tried.unlink()
    except OSError as error:
        raise PermissionRefused(
            "the folder to write into takes no files",
            where=folder,
            found=error.strerror or str(error),
            change="name a path in a folder of yours",
        ) from error


def make_folder(path: Path) -> None:
    """For pictures to be drawn into; it may be there."""
    if path.exists() and not path.is_dir():
        raise NotAFolder(
            "pictures are drawn into a folder, and this is a file", where=path, change="name a folder"
        )
    path.mkdir(parents=True, exist_ok=True)
