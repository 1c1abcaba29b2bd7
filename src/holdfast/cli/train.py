"""`holdfast train RECIPE_OR_DATA`: trains a detector in a process of its own, watched from begin to end."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.arguments import RESTARTS
from holdfast.cli.recipe import add_overrides
from holdfast.errors import AlreadyThere, NotARun, PathMissing, UsageError, nearest
from holdfast.journal.folder import RunFolder

if TYPE_CHECKING:
    from holdfast.settings.recipe import Recipe

#: The trainer's own answers: what it said will not change by itself. Kills, crashes and defects are tried again.
FINAL_CODES = frozenset({1, 2})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="?",
        metavar="RECIPE_OR_DATA",
        help="a recipe (.toml), or a folder or file of pictures and boxes to train on with the defaults",
    )
    parser.add_argument("--run-dir", metavar="D", help="the run's folder (default: runs/<name>-<n>)")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --run-dir")
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="with --resume: go on although the recipe or the data is another, as far as the weights fit",
    )
    add_overrides(parser)
    parser.add_argument("--restarts", metavar="N", type=RESTARTS, default=3,
                        help="how often a killed or crashed trainer is started again (default 3)")  # fmt: skip
    parser.add_argument(
        "--on-stall",
        choices=("report", "stop", "restart"),
        default="report",
        help="what to do when nothing moves: say it; end the run with exit code 124; or start the trainer again",
    )


def run(args: argparse.Namespace) -> int:
    from holdfast import settings
    from holdfast.cli.run import _explain, _Say
    from holdfast.supervise import ending, session

    folder, recipe = _resumed(args) if args.resume else _fresh(args)
    _refuse_group(recipe)
    refuse_missing(recipe, args.source or folder.recipe, args.overrides)
    session.open_folder(folder.path)
    before = settings.read(folder.recipe) if args.resume else None
    settings.store(recipe, folder.recipe)
    command = (
        sys.executable,
        "-m",
        "holdfast.train",
        str(folder.path),
        *(["--resume"] if args.resume else []),
        *(["--accept-changes"] if args.accept_changes else []),
    )
    say = _Say()
    orders = session.Orders(
        command=command, run_dir=folder.path, restarts=args.restarts, watch="train", on_stall=args.on_stall,
        first_attempt=_attempts_before(folder) + 1, final_codes=FINAL_CODES,
    )  # fmt: skip
    finished = session.Session(orders, say=say).run()
    if (
        before is not None
        and finished.exit_code in FINAL_CODES
        and not _went_on(folder, orders.first_attempt)
    ):
        settings.store(before, folder.recipe)  # the trainer refused what was changed, and did nothing
    say(ending.render(finished.ending))
    if finished.exit_code and (kept := to_go_on(folder, finished.exit_code)):
        say(kept)
    _explain(folder, say)
    return finished.exit_code


def to_go_on(folder: RunFolder, exit_code: int) -> str:
    """After an end that was not the run's own: what is kept of it, and the command that goes on from there."""
    from holdfast.train import checkpoints

    saved = checkpoints.committed(folder.checkpoints)
    command = f"`holdfast train --resume --run-dir {shlex.quote(str(folder.path))}`"
    if not saved and exit_code in FINAL_CODES:
        return ""  # the trainer's own answer says what there is to do
    if not saved:
        return f"  kept     no step was saved; {command} begins again"
    return f"  kept     step {saved[-1].name.removeprefix('step-')} is saved; {command} goes on from there"


def _went_on(folder: RunFolder, since: int) -> bool:
    """Whether an attempt since then loaded a checkpoint, or began at the first step."""
    from holdfast.journal import events as ev
    from holdfast.journal import reader

    attempts = (entry for entry in reader.read(folder.journal) if entry.attempt >= since)
    return any(isinstance(entry.event, ev.Restored | ev.FitStarted) for entry in attempts)


def _refuse_group(recipe: Recipe) -> None:
    if recipe.hardware.processes > 1:
        raise UsageError(
            f"the recipe wants {recipe.hardware.processes} processes, and train starts one",
            where="hardware.processes",
            change="holdfast launch with the same arguments; or --set hardware.processes=1",
        )


def _fresh(args: argparse.Namespace) -> tuple[RunFolder, Recipe]:
    from holdfast.supervise.naming import free_name

    if args.source is None:
        named = next((one.partition("=")[2] for one in args.overrides if one.startswith("data.train=")), "")
        raise UsageError(
            "there is nothing to train on",
            where="the command line",
            change=f"holdfast train {named}"
            if named
            else "holdfast train DATA_FOLDER, or holdfast train recipe.toml",
        )
    recipe = _recipe(args.source, args.overrides)
    source = Path(args.source.rstrip("/"))
    path = Path(args.run_dir) if args.run_dir else free_name(Path("runs"), source.stem or "train")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        was = "a file" if path.is_file() else "a run of before" if RunFolder(path).is_run else "other files"
        raise AlreadyThere(
            f"{path} is there already, and a run is never written over another",
            where=path,
            found=was,
            change=[
                *([f"--resume --run-dir {path} to go on with it"] if was == "a run of before" else []),
                f"--run-dir {free_name(path.parent, path.stem)} for a new one",
            ],
        )
    return RunFolder(path), recipe


def _resumed(args: argparse.Namespace) -> tuple[RunFolder, Recipe]:
    from holdfast import settings
    from holdfast.train import held, resume

    given = args.run_dir or args.source
    if given is None:
        raise UsageError(
            "--resume needs the run to go on with",
            where="the command line",
            change="holdfast train --resume --run-dir runs/NAME",
        )
    folder = RunFolder(Path(given))
    if not folder.recipe.is_file():
        raise NotARun(
            "there is no run to go on with at this path",
            where=folder.path,
            found="no recipe.toml in it" if folder.path.is_dir() else "it is not a folder",
            change="--run-dir with the folder of a run, as in runs/NAME",
        )
    held.refuse_held(folder.path)
    if args.source and args.run_dir:
        recipe = _recipe(args.source, args.overrides)
    else:
        recipe = settings.read(folder.recipe, [_whole_override(one) for one in args.overrides])
    # Refused here, or the run's own recipe would be the refused one.
    if any(folder.checkpoints.glob("step-*")):
        changed = resume.changes(resume.flat(settings.read(folder.recipe)), resume.flat(recipe))
        resume.check(changed, where=str(folder.recipe), accepted=args.accept_changes)
    return folder, recipe


def _recipe(source: str, overrides: list[str]) -> Recipe:
    from holdfast import settings

    if source.endswith(".toml"):
        return _placed(settings.read(source, overrides), Path(source).parent)
    refuse_stranger(source)
    if "://" not in source and not Path(source).exists() and not glob(source):
        raise PathMissing(
            "there is neither a recipe nor data at this path",
            where=source,
            change="a recipe ends in .toml; data is a folder or file of pictures and boxes",
        )
    return _placed(settings.resolve({"data": {"train": source}}, overrides), Path())


def refuse_stranger(source: str) -> None:
    """What is given in the place of a recipe or of data, and is neither."""
    if source.endswith((".py", ".ipynb", ".sh")):
        raise UsageError(
            "this is a script, and neither a recipe nor data",
            where=source,
            change=f"holdfast run -- {'bash' if source.endswith('.sh') else 'python'} {shlex.quote(source)} watches it"
            if not source.endswith(".ipynb")
            else 'in the notebook: with holdfast.watch("runs/x"): model.fit(...)',
        )
    folder = RunFolder(Path(source))
    # False where it may not be looked into; a Path would raise there.
    if "://" not in source and os.path.isfile(folder.journal):
        own = [f"its recipe is {folder.recipe}"] if folder.recipe.is_file() else []
        raise UsageError(
            "this is the folder of a run, and neither a recipe nor data",
            where=source,
            found=own,
            change=[
                *(
                    [f"holdfast train --resume --run-dir {shlex.quote(source)} goes on with it"]
                    if own
                    else []
                ),
                f"holdfast explain {shlex.quote(source)} says how it went",
            ],
        )


PATHS = ("data.train", "data.validation", "model.weights")


def _placed(recipe: Recipe, beside: Path) -> Recipe:
    """Paths made whole, so that the run can be resumed from anywhere: from here, else from beside the recipe."""
    data = replace(
        recipe.data,
        train=_whole(recipe.data.train, beside),
        validation=recipe.data.validation and _whole(recipe.data.validation, beside),
    )
    weights = recipe.model.weights and _whole(recipe.model.weights, beside)
    return replace(recipe, data=data, model=replace(recipe.model, weights=weights))


def _whole_override(words: str) -> str:
    """Of a run that goes on, whose other paths are whole."""
    key, equals, value = words.partition("=")
    return f"{key}{equals}{_whole(value, Path())}" if key.strip() in PATHS and value else words


def _whole(path: str, beside: Path) -> str:
    if "://" in path:
        return path
    path = os.path.expanduser(path)
    if Path(path).is_absolute():
        return path
    found = next((one for one in (Path(path), beside / path) if is_there(str(one))), None)
    if found is None:
        return path
    return str(found.resolve() if found.exists() else found.absolute())


def is_there(path: str) -> bool:
    """A file, a folder (also one called `set [v2]`), or a pattern that fits something."""
    return os.path.exists(path) or bool(_GLOB.search(path) and glob(path))


def refuse_missing(recipe: Recipe, source: str | Path, overrides: Sequence[str] = ()) -> None:
    """Before Keras is loaded and a folder made: data that a local path names, and that is not there or is no data."""
    from holdfast.data import detect

    for key, path in (("data.train", recipe.data.train), ("data.validation", recipe.data.validation)):
        if not path or "://" in path or _GLOB.search(path):
            continue
        if Path(path).exists():
            detect.sources(path)
            continue
        given = Path(path)
        places = dict.fromkeys(
            _missing_from(base, given) for base in (Path.cwd(), Path(source).resolve().parent)
        )
        close = next((near for place, part in places if (near := nearest(part, _names_in(place)))), None)
        typed = next((one for one in overrides if one.startswith(f"{key}=")), "")
        part = next(part for _, part in places)
        raise PathMissing(
            f"{key} names a path where there is nothing: {path}",
            where=f"--set {typed}" if typed else source,
            found=[f"no {part} in {place}" for place, part in places],
            change=[
                *([f"the nearest name there is {str(given).replace(part, close, 1)}"] if close else []),
                f"{key} = the folder or file with the pictures and boxes; a path that is not whole is taken from "
                "the folder you are in, else from beside the recipe",
            ],
        )


_GLOB = re.compile(r"[*?\[]")


def _missing_from(base: Path, given: Path) -> tuple[str, str]:
    """The folder on the way that is there, and the first part of the path that is not in it."""
    whole = base / given
    for above in reversed(whole.parents):
        part = whole.relative_to(above).parts[0]
        if not (above / part).exists():
            return str(above), part
    return str(whole.parent), whole.name


def _names_in(place: str) -> list[str]:
    return [one.name for one in Path(place).iterdir()] if Path(place).is_dir() else []


def _attempts_before(folder: RunFolder) -> int:
    from holdfast.journal import reader

    try:
        return max((entry.attempt for entry in reader.read(folder.journal)), default=0)
    except OSError:
        return 0
