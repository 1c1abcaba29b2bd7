"""Run folders as commands name them: a folder of runs, a new run's folder, the attempts that a run has had."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import AlreadyThere, NotAFolder, PathMissing
from holdfast.journal.folder import RunFolder


def folder_of_runs(name: str) -> Path:
    """For `board` and `top`: the folder that contains runs."""
    root = Path(name)
    if not root.exists():
        raise PathMissing(
            "there is no folder of runs here",
            where=root,
            change=[
                "give the folder, or start a run: holdfast run -- python train.py",
                "for a training that runs already: holdfast attach",
            ],
        )
    if not root.is_dir():
        raise NotAFolder(
            "this is a file; runs are stored in a folder", where=root, change="give the folder of the runs"
        )
    return root


def new_run_folder(source: str, run_dir: str | None) -> RunFolder:
    """`run_dir`, or the next free runs/<name>-<n>. A run is never written over another."""
    from holdfast.supervise.run_names import free_name

    path = Path(run_dir) if run_dir else free_name(Path("runs"), Path(source.rstrip("/")).stem or "train")
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return RunFolder(path)
    is_run = path.is_dir() and RunFolder(path).is_run
    raise AlreadyThere(
        f"{path} already exists, and a run never overwrites another",
        where=path,
        found="a file" if path.is_file() else "an earlier run" if is_run else "other files",
        change=[
            *([f"--resume --run-dir {path} to resume it"] if is_run else []),
            f"--run-dir {free_name(path.parent, path.stem)} for a new run",
        ],
    )


def attempts_before(folder: RunFolder) -> int:
    """The number of the last attempt in the run's journal; 0 when it has none."""
    from holdfast.journal import reader

    try:
        return max((entry.attempt for entry in reader.read(folder.journal)), default=0)
    except OSError:
        return 0
