"""`holdfast launch RECIPE`: trains one model with several processes or hosts, or submits a cluster job."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.atomic_write import make_private_folder
from holdfast.cli import ray_launch
from holdfast.cli.arguments import (
    PROCESSES,
    RESTARTS,
    add_hidden_alias,
    add_overrides,
    add_run_folder,
    integer,
    positive,
)
from holdfast.cli.notifications import add_notify, notifying
from holdfast.cli.recipes import refuse_missing_data, resolve_recipe
from holdfast.cli.run_folders import attempts_before, new_run_folder
from holdfast.cli.verdicts import print_group_end
from holdfast.errors import HoldfastError, UsageError, nearest
from holdfast.journal.folder import RunFolder
from holdfast.shared_limits import MAX_PROCESSES
from holdfast.stderr import print_line

if TYPE_CHECKING:
    from holdfast.launch.group import LocalGroup
    from holdfast.settings.recipe import Recipe

TARGETS = ("vertex", "slurm", "kubernetes")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[vertex|slurm|kubernetes] RECIPE | view RUN",
        help="a recipe to train here; a target and a recipe to submit; or `view` and a run folder",
    )
    parser.add_argument(
        "--processes",
        type=PROCESSES,
        metavar="N",
        help="number of processes that train together (hardware.processes)",
    )
    add_run_folder(parser, resume="resume the run in --run-dir, or start it")
    add_overrides(parser)
    parser.add_argument("--restarts", metavar="N", type=RESTARTS, default=3,
                        help="how often the group is restarted when a process fails (default: 3)")  # fmt: skip
    parser.add_argument(
        "--on-stall", choices=("report", "stop", "restart"), default="restart",
        help="when a process stalls: report it; stop the run with exit code 124; or restart the group (default)",
    )  # fmt: skip
    add_notify(parser)
    parser.add_argument(
        "--on",
        choices=("ray",),
        help="train on the Ray cluster of this machine, one process for each GPU or core",
    )
    parser.add_argument(
        "--least-processes", type=PROCESSES, metavar="N",
        help="on Ray: continue with fewer processes, but at least N, when nodes are lost (hardware.least_processes)",
    )  # fmt: skip
    hosts = parser.add_argument_group("several hosts (detected under SLURM, Kubernetes and Vertex AI)")
    hosts.add_argument(
        "--host", type=integer(0, such_as=0), metavar="I", help="the number of this host, from 0"
    )
    hosts.add_argument(
        "--hosts", type=integer(1, most=MAX_PROCESSES, such_as=2), metavar="N", help="the number of hosts"
    )
    hosts.add_argument("--coordinator", metavar="HOST:PORT", help="the address of the coordinator on host 0")
    add_hidden_alias(hosts, "--conductor", of="--coordinator", metavar="HOST:PORT")
    hosts.add_argument(
        "--token-file",
        metavar="FILE",
        help="a file with the secret that all hosts share (or: $HOLDFAST_GROUP_TOKEN)",
    )
    hosts.add_argument("--token", help=argparse.SUPPRESS)  # of 0.1: `ps` showed it to everybody
    hosts.add_argument("--join-timeout", metavar="S", type=positive("seconds", such_as="600"), default=600.0,
                       help="seconds to wait for the other hosts (default: 600)")  # fmt: skip
    add_hidden_alias(hosts, "--join-limit", of="--join-timeout", type=positive("seconds", such_as="600"))
    jobs = parser.add_argument_group("jobs")
    jobs.add_argument("--dry-run", action="store_true", help="print the job, submit nothing")
    jobs.add_argument("--image", metavar="URI", help="a container image with Holdfast installed")
    jobs.add_argument("--project", help="the Google Cloud project")
    jobs.add_argument("--region", help="the Google Cloud region")
    jobs.add_argument("--bucket", metavar="gs://…", help="the bucket for checkpoints and the model")
    jobs.add_argument("--machine", metavar="TYPE", help="machine type, e.g. g2-standard-12")
    jobs.add_argument(
        "--accelerator", metavar="TYPE[:N]", help="accelerator type and count, e.g. NVIDIA_L4:1"
    )
    jobs.add_argument("--service-account", metavar="EMAIL", help="the service account of the job")
    jobs.add_argument(
        "--tensorboard", metavar="NAME", help="a Vertex AI TensorBoard: projects/P/locations/R/tensorboards/N"
    )
    jobs.add_argument(
        "--spot",
        action="store_true",
        help="use spot machines, which can be preempted; the job resumes by itself",
    )
    jobs.add_argument("--endpoint", metavar="HOST", help="another Vertex AI endpoint, for testing")


def run(args: argparse.Namespace) -> int:
    if args.words[0] in TARGETS:
        from holdfast.cli import cluster_jobs

        ray_launch.refuse_other_options(args, target=args.words[0])
        return cluster_jobs.run(args)
    if args.words[0] == "view" and len(args.words) == 2:
        return _view(Path(args.words[1]))
    if len(args.words) > 1:
        close = nearest(args.words[0], (*TARGETS, "view"))
        raise UsageError(
            "holdfast launch takes a recipe; or vertex, slurm or kubernetes and a recipe; or view and a run",
            where="the command line",
            found=" ".join(args.words),
            change=f"holdfast launch {f'{close} ' if close else ''}{args.words[-1]}",
        )
    return _train(args)


def _train(args: argparse.Namespace) -> int:
    from holdfast.launch import stop_signals

    stop_signals.import_numpy()
    from holdfast import settings
    from holdfast.launch import group
    from holdfast.supervise.session import open_folder

    ray_launch.refuse_other_options(args)
    folder, recipe = _run_of(args)
    if args.on == "ray":
        return ray_launch.train(args, folder, recipe)
    here = _here(args, folder, recipe)
    refuse_missing_data(recipe, args.words[0], args.overrides)
    open_folder(folder.path)
    for rank in here.ranks:
        own = RunFolder(_folder_of(folder.path, rank))
        make_private_folder(own.path)
        settings.store(recipe, own.recipe)
    if here.coordinator:  # the host of the coordinator speaks for the group
        return group.run(here, say=print_line).exit_code
    with notifying(args.notify, folder):
        outcome = group.run(here, say=print_line)
        print_group_end(outcome, folder)
    return outcome.exit_code


def _view(folder: Path) -> int:
    import time

    from holdfast.launch import group_table

    print(group_table.render(group_table.read(folder), time.time()))
    return 0


def _here(args: argparse.Namespace, folder: RunFolder, recipe: Recipe) -> LocalGroup:
    from holdfast.launch import cluster, group_token
    from holdfast.launch.coordinator import GroupConfig
    from holdfast.launch.group import TRAINER, LocalGroup

    command = (*TRAINER, "--accept-changes") if args.accept_changes else TRAINER
    spot = cluster.from_arguments(args.host, args.hosts, args.coordinator) or cluster.from_environment(
        os.environ
    )
    count = recipe.hardware.processes
    token = group_token.find(args.token, args.token_file, os.environ, needed=spot is not None)
    terms = GroupConfig(
        count=count, token=token, restarts=args.restarts, on_stall=args.on_stall, join_s=args.join_timeout,
        resume=args.resume, first_attempt=attempts_before(folder) + 1,
    )  # fmt: skip
    if spot is None:
        return LocalGroup(folder.path, range(count), terms, command=command)
    ranks = cluster.ranks_of(spot, count)
    address, _, port = spot.coordinator.rpartition(":")
    if spot.host == 0:
        terms = replace(terms, advertised=address)
        return LocalGroup(folder.path, ranks, terms, listen="0.0.0.0", port=int(port), command=command)
    return LocalGroup(folder.path, ranks, terms, coordinator=spot.coordinator, command=command)


def _run_of(args: argparse.Namespace) -> tuple[RunFolder, Recipe]:
    source = args.words[0]
    own = f"hardware.processes={args.processes}"
    overrides = [*args.overrides, *([own] if args.processes else [])]
    try:
        if args.run_dir and args.resume:
            return RunFolder(Path(args.run_dir)), resolve_recipe(source, overrides)
        recipe = resolve_recipe(source, overrides)
        return new_run_folder(source, args.run_dir), recipe
    except HoldfastError as error:  # named by the option that was typed
        error.where = error.where.replace(f"--set {own}", f"--processes {args.processes}")
        raise


def _folder_of(group: Path, rank: int) -> Path:
    from holdfast.journal.group_membership import agent_folder

    return agent_folder(group, rank)
