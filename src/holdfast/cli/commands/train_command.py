"""`holdfast train RECIPE_OR_DATA`: trains a detector in a watched process of its own."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.arguments import RESTARTS, add_overrides, add_run_folder
from holdfast.cli.notifications import add_notify, notifying
from holdfast.cli.recipes import absolute_override, download_weights, refuse_missing_data, resolve_recipe
from holdfast.cli.run_folders import attempts_before, new_run_folder
from holdfast.cli.verdicts import explain_and_print
from holdfast.errors import NotARun, UsageError
from holdfast.journal.folder import RunFolder
from holdfast.settings.installed_backend import require_backend
from holdfast.stderr import print_line

if TYPE_CHECKING:
    from holdfast.settings.recipe import Recipe

#: Exit codes of the trainer that a restart would repeat. After a kill or a crash it is restarted.
FINAL_CODES = frozenset({1, 2})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="?",
        metavar="RECIPE_OR_DATA",
        help="a recipe (.toml), or a folder or file of images and boxes to train on with the default recipe",
    )
    add_run_folder(parser, resume="resume the run in --run-dir")
    add_overrides(parser)
    parser.add_argument("--restarts", metavar="N", type=RESTARTS, default=3,
                        help="how often a killed or crashed trainer is restarted (default: 3)")  # fmt: skip
    parser.add_argument(
        "--on-stall",
        choices=("report", "stop", "restart"),
        default="report",
        help="on a stall: report it (default); stop the run with exit code 124; or restart the trainer",
    )
    add_notify(parser)


def run(args: argparse.Namespace) -> int:
    from holdfast import settings
    from holdfast.supervise import end_summary, session
    from holdfast.train.checkpoint.checkpoint_files import committed

    folder, recipe = _resumed_run(args) if args.resume else _new_run(args)
    _refuse_group(recipe)
    begun = args.resume and (bool(committed(folder.checkpoints)) or recipe.hardware.copy_to is not None)
    refuse_missing_data(recipe, args.source or folder.recipe, args.overrides, weights=not begun)
    require_backend(recipe.train.backend)
    if not begun:  # a checkpoint has all weights
        download_weights(recipe)
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
    orders = session.RunOptions(
        command=command, run_dir=folder.path, restarts=args.restarts, watch="train", on_stall=args.on_stall,
        first_attempt=attempts_before(folder) + 1, final_codes=FINAL_CODES,
    )  # fmt: skip
    with notifying(args.notify, folder):
        finished = session.SupervisedRun(orders, print_line=print_line).run()
        if (
            before is not None
            and finished.exit_code in FINAL_CODES
            and not _started_training(folder, orders.first_attempt)
        ):
            settings.store(before, folder.recipe)  # the trainer refused the changes before it started
        print_line(end_summary.render(finished.summary))
        if finished.exit_code and (saved := how_to_resume(folder, finished.exit_code)):
            print_line(saved)
        explain_and_print(folder, recorded=finished.recorded)
    return finished.exit_code


def how_to_resume(folder: RunFolder, exit_code: int) -> str:
    """After a run that did not finish: which checkpoint there is, and the command that resumes it."""
    from holdfast.train.checkpoint import checkpoint_files

    saved = checkpoint_files.committed(folder.checkpoints)
    command = f"`holdfast train --resume --run-dir {shlex.quote(str(folder.path))}`"
    if not saved and exit_code in FINAL_CODES:
        return ""  # the trainer's own error says what to do
    if not saved:
        return f"  saved    no checkpoint; {command} starts again from step 0"
    step = saved[-1].name.removeprefix("step-")
    return f"  saved    checkpoint at step {step}; {command} resumes there"


def _started_training(folder: RunFolder, since: int) -> bool:
    """Whether an attempt from `since` on loaded a checkpoint, or started a fit."""
    from holdfast.journal import events as ev
    from holdfast.journal import reader

    attempts = (entry for entry in reader.read(folder.journal) if entry.attempt >= since)
    return any(isinstance(entry.event, ev.Restored | ev.FitStarted) for entry in attempts)


def _refuse_group(recipe: Recipe) -> None:
    if recipe.hardware.processes > 1:
        raise UsageError(
            f"the recipe has {recipe.hardware.processes} processes, and `holdfast train` starts one",
            where="hardware.processes",
            change="use `holdfast launch` with the same arguments, or --set hardware.processes=1",
        )


def _new_run(args: argparse.Namespace) -> tuple[RunFolder, Recipe]:
    if args.source is None:
        named = next((one.partition("=")[2] for one in args.overrides if one.startswith("data.train=")), "")
        raise UsageError(
            "there is nothing to train on",
            where="the command line",
            change=f"holdfast train {named}"
            if named
            else "holdfast train DATA_FOLDER, or holdfast train recipe.toml",
        )
    recipe = resolve_recipe(args.source, args.overrides)
    return new_run_folder(args.source, args.run_dir), recipe


def _resumed_run(args: argparse.Namespace) -> tuple[RunFolder, Recipe]:
    from holdfast import settings
    from holdfast.train.checkpoint import resume, run_lock

    given = args.run_dir or args.source
    if given is None:
        raise UsageError(
            "--resume needs a run to resume",
            where="the command line",
            change="holdfast train --resume --run-dir runs/NAME",
        )
    folder = RunFolder(Path(given))
    if not folder.recipe.is_file():
        raise NotARun(
            "there is no run to resume at this path",
            where=folder.path,
            found="no recipe.toml in it" if folder.path.is_dir() else "it is not a folder",
            change="--run-dir with a run folder, e.g. runs/NAME",
        )
    run_lock.refuse_if_locked(folder.path)
    if args.source and args.run_dir:
        recipe = resolve_recipe(args.source, args.overrides)
    else:
        recipe = settings.read(folder.recipe, [absolute_override(one) for one in args.overrides])
    # Refused before the new recipe replaces the run's own.
    if any(folder.checkpoints.glob("step-*")):
        changed = resume.changed_settings(
            resume.flatten(settings.read(folder.recipe)), resume.flatten(recipe)
        )
        resume.check_changes(changed, where=str(folder.recipe), accepted=args.accept_changes)
    return folder, recipe
