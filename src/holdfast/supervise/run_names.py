"""Names of runs: one folder each, never one that exists already."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from holdfast.atomic_write import PRIVATE_FOLDER
from holdfast.errors import AlreadyThere
from holdfast.journal.folder import RunFolder
from holdfast.user_code import script_words


def choose_folder(command: tuple[str, ...], *, run_dir: str | None, name: str | None, runs: Path) -> Path:
    """The folder of the options, or a new `runs/<script>-<n>`. Never one that has files already."""
    if run_dir is not None or name is not None:
        path = Path(run_dir) if run_dir is not None else runs / str(name)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise AlreadyThere(
                f"{path} exists already, and a run never overwrites another",
                where=path,
                found="a file"
                if path.is_file()
                else "an earlier run"
                if RunFolder(path).is_run
                else "other files",
                change=f"--run-dir {free_name(path.parent, path.name)}, or leave it out for a new folder",
            )
        return path
    return _claim_folder(runs, script_name(command))


def _claim_folder(parent: Path, stem: str) -> Path:
    """Created here: of two runs that start at once, the second takes the next name."""
    if os.path.lexists(parent) and not parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(parent))
    while True:
        path = free_name(parent, stem)
        try:
            parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=PRIVATE_FOLDER)
            return path
        except FileExistsError:
            continue
        except PermissionError:
            return path  # the error is raised where the folder is opened


def free_name(parent: Path, stem: str) -> Path:
    number = 1
    while os.path.lexists(parent / f"{stem}-{number}"):
        number += 1
    return parent / f"{stem}-{number}"


def script_name(command: tuple[str, ...]) -> str:
    """`train` of `python -u train.py --lr 1`, `pkg.train` of `python -m pkg.train`, else the program."""
    for word, is_module in script_words(command):
        return _slug(word if is_module else Path(word).stem)
    return _slug(Path(command[0]).name)


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
