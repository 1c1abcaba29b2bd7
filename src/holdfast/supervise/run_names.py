"""Names of runs: one folder each, never one that is there already."""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.errors import AlreadyThere
from holdfast.journal.folder import RunFolder


def choose_folder(command: tuple[str, ...], *, run_dir: str | None, name: str | None, runs: Path) -> Path:
    """The folder asked for, or `runs/<script>-<n>`, which is made. Never one in which a run is already."""
    if run_dir is not None or name is not None:
        path = Path(run_dir) if run_dir is not None else runs / str(name)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise AlreadyThere(
                f"{path} is there already, and a run is never written over another",
                where=path,
                found="a file"
                if path.is_file()
                else "a run of before"
                if RunFolder(path).is_run
                else "other files",
                change=f"--run-dir {free_name(path.parent, path.name)}, or leave it out for a folder of its own",
            )
        return path
    return _claim_folder(runs, script_name(command))


def _claim_folder(parent: Path, stem: str) -> Path:
    """Made here: of two runs that start at once, the one that comes second to a name takes the next."""
    while True:
        path = free_name(parent, stem)
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            continue
        except PermissionError:
            return path  # whoever opens it says so, and what to do


def free_name(parent: Path, stem: str) -> Path:
    number = 1
    while os.path.lexists(parent / f"{stem}-{number}"):
        number += 1
    return parent / f"{stem}-{number}"


def script_name(command: tuple[str, ...]) -> str:
    """`train` of `python -u train.py --lr 1`, `pkg.train` of `python -m pkg.train`, else the program."""
    words = list(command)
    for at, word in enumerate(words):
        if word.endswith(".py"):
            return _slug(Path(word).stem)
        if word == "-m" and at + 1 < len(words):
            return _slug(words[at + 1])
    return _slug(Path(words[0]).name)


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
