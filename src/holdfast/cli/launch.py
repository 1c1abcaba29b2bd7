"""`holdfast launch RECIPE`: several processes that train one model, watched as one; or a job for a cloud or cluster."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.arguments import MOST_PROCESSES, PROCESSES, RESTARTS, positive, whole
from holdfast.cli.recipe import add_overrides
from holdfast.errors import HoldfastError, UsageError, nearest
from holdfast.journal.folder import RunFolder

if TYPE_CHECKING:
    from holdfast.launch.group import Here, Outcome
    from holdfast.settings.recipe import Recipe

TARGETS = ("vertex", "slurm", "kubernetes")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[vertex|slurm|kubernetes] RECIPE | view RUN",
        help="a recipe to train here; or where to send it; or a run whose processes to show",
    )
    parser.add_argument(
        "--processes", type=PROCESSES, metavar="N", help="how many train together (hardware.processes)"
    )
    parser.add_argument("--run-dir", metavar="D", help="the run's folder (default: runs/<name>-<n>)")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --run-dir, or begin it")
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="with --resume: go on although the recipe or the data is another, as far as the weights fit",
    )
    add_overrides(parser)
    parser.add_argument("--restarts", metavar="N", type=RESTARTS, default=3,
                        help="how often all are started again together when one falls (default 3)")  # fmt: skip
    parser.add_argument(
        "--on-stall", choices=("report", "stop", "restart"), default="restart",
        help="when one holds up all: say it; end the run with exit code 124; or start all again (default)",
    )  # fmt: skip
    hosts = parser.add_argument_group("several hosts (SLURM, Kubernetes and Vertex AI say these themselves)")
    hosts.add_argument(
        "--host", type=whole(0, such_as=0), metavar="I", help="the number of this host, from 0"
    )
    hosts.add_argument(
        "--hosts", type=whole(1, most=MOST_PROCESSES, such_as=2), metavar="N", help="how many there are"
    )
    hosts.add_argument("--conductor", metavar="HOST:PORT", help="where host 0 listens")
    hosts.add_argument("--token", help="a word that all share (default: $HOLDFAST_GROUP_TOKEN)")
    hosts.add_argument("--join-limit", metavar="S", type=positive("seconds", such_as="600"), default=600.0,
                       help="seconds that the others may take to come (default 600)")  # fmt: skip
    jobs = parser.add_argument_group("jobs")
    jobs.add_argument("--dry-run", action="store_true", help="print the job, send nothing")
    jobs.add_argument("--image", metavar="URI", help="the container image that holds Holdfast")
    jobs.add_argument("--project", help="Google Cloud: the project")
    jobs.add_argument("--region", help="Google Cloud: the region")
    jobs.add_argument("--bucket", metavar="gs://…", help="where the run's checkpoints and model go")
    jobs.add_argument("--machine", metavar="TYPE", help="machine type, as in g2-standard-12")
    jobs.add_argument("--accelerator", metavar="TYPE[:N]", help="as in NVIDIA_L4:1, or a GPU's name")
    jobs.add_argument("--service-account", metavar="EMAIL")
    jobs.add_argument("--tensorboard", metavar="NAME", help="projects/P/locations/R/tensorboards/N")
    jobs.add_argument(
        "--spot", action="store_true", help="cheap machines that may be taken away; the job goes on by itself"
    )
    jobs.add_argument("--endpoint", metavar="HOST", help="another address of the Vertex API (for trials)")


def run(args: argparse.Namespace) -> int:
    if args.words[0] in TARGETS:
        from holdfast.cli import launch_jobs

        return launch_jobs.run(args)
    if args.words[0] == "view" and len(args.words) == 2:
        return _view(Path(args.words[1]))
    if len(args.words) > 1:
        close = nearest(args.words[0], (*TARGETS, "view"))
        raise UsageError(
            "launch takes one recipe; or vertex, slurm or kubernetes and a recipe; or view and a run",
            where="the command line",
            found=" ".join(args.words),
            change=f"holdfast launch {f'{close} ' if close else ''}{args.words[-1]}",
        )
    return _train(args)


def _train(args: argparse.Namespace) -> int:
    from holdfast import settings
    from holdfast.cli.train import refuse_missing
    from holdfast.launch import group
    from holdfast.supervise.session import open_folder

    folder, recipe = _run_of(args)
    here = _here(args, folder, recipe)
    refuse_missing(recipe, args.words[0], args.overrides)
    open_folder(folder.path)
    for rank in here.ranks:
        own = RunFolder(_folder_of(folder.path, rank))
        own.path.mkdir(parents=True, exist_ok=True)
        settings.store(recipe, own.recipe)
    outcome = group.run(here, say=_say)
    if not here.conductor:
        _tell_end(outcome, folder)
    return outcome.exit_code


def _view(folder: Path) -> int:
    import time

    from holdfast.launch import table

    print(table.render(table.read(folder), time.time()))
    return 0


def _here(args: argparse.Namespace, folder: RunFolder, recipe: Recipe) -> Here:
    from holdfast.cli.train import _attempts_before
    from holdfast.launch import cluster
    from holdfast.launch.conductor import Terms
    from holdfast.launch.group import TRAINER, Here

    command = (*TRAINER, "--accept-changes") if args.accept_changes else TRAINER
    spot = cluster.chosen(args.host, args.hosts, args.conductor) or cluster.of_environment(os.environ)
    count = recipe.hardware.processes
    token = args.token or os.environ.get("HOLDFAST_GROUP_TOKEN", "")
    terms = Terms(
        count=count, token=token, restarts=args.restarts, on_stall=args.on_stall, join_s=args.join_limit,
        resume=args.resume, first_attempt=_attempts_before(folder) + 1,
    )  # fmt: skip
    if spot is None:
        return Here(folder.path, range(count), terms, command=command)
    ranks = cluster.ranks_of(spot, count)
    address, _, port = spot.conductor.rpartition(":")
    if spot.host == 0:
        terms = replace(terms, advertised=address)
        return Here(folder.path, ranks, terms, listen="0.0.0.0", port=int(port), command=command)
    return Here(folder.path, ranks, terms, conductor=spot.conductor, command=command)


def _run_of(args: argparse.Namespace) -> tuple[RunFolder, Recipe]:
    from holdfast.cli.train import _fresh, _recipe

    source = args.words[0]
    own = f"hardware.processes={args.processes}"
    overrides = [*args.overrides, *([own] if args.processes else [])]
    try:
        if args.run_dir and args.resume:
            return RunFolder(Path(args.run_dir)), _recipe(source, overrides)
        return _fresh(argparse.Namespace(source=source, overrides=overrides, run_dir=args.run_dir))
    except HoldfastError as error:  # by the name that was typed
        error.where = error.where.replace(f"--set {own}", f"--processes {args.processes}")
        raise


def _folder_of(group: Path, rank: int) -> Path:
    from holdfast.launch.place import folder_of

    return folder_of(group, rank)


def _tell_end(outcome: Outcome, folder: RunFolder) -> None:
    from holdfast.cli.run import _explain, _Say

    attempts = f" in {outcome.attempts} attempts" if outcome.attempts > 1 else ""
    _say(f"holdfast: the group ended with exit code {outcome.exit_code}{attempts}; folder {folder.path}")
    _explain(folder, _Say())


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
