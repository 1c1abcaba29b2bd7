"""`holdfast launch RECIPE --on ray`: what is refused before any work, and the group on the cluster of this machine."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.atomic_write import make_private_folder
from holdfast.cli.notifications import notifying
from holdfast.cli.recipes import refuse_missing_data
from holdfast.cli.run_folders import attempts_before
from holdfast.cli.verdicts import print_group_end
from holdfast.errors import UsageError
from holdfast.journal.folder import RunFolder
from holdfast.stderr import print_line

if TYPE_CHECKING:
    from holdfast.settings.recipe import Recipe


def refuse_other_options(args: argparse.Namespace, *, target: str = "") -> None:
    """Options of `launch` that would change nothing here, because another one is given or missing."""
    if args.on is not None and target:
        raise UsageError(
            f"--on {args.on} trains on a cluster now, and {target} writes or submits a job",
            where="the command line",
            change=[
                f"holdfast launch {args.words[-1]} --on {args.on}",
                f"holdfast launch {' '.join(args.words)}",
            ],
        )
    if args.on is None and args.least_processes is not None:
        raise UsageError(
            "--least-processes works on Ray only",
            where=f"--least-processes {args.least_processes}",
            change="add --on ray, or leave it out",
        )
    hosts = {"--host": args.host, "--hosts": args.hosts, "--coordinator": args.coordinator}
    if args.on is not None and (typed := [name for name, value in hosts.items() if value is not None]):
        raise UsageError(
            f"on {args.on.capitalize()} the cluster gives the hosts, and {typed[0]} changes nothing",
            where="the command line",
            found=" ".join(f"{name} {hosts[name]}" for name in typed),
            change=f"leave out {', '.join(typed)}, or --on {args.on}",
        )


def train(args: argparse.Namespace, folder: RunFolder, recipe: Recipe) -> int:
    from holdfast import settings
    from holdfast.data.workers import ray_cluster
    from holdfast.launch import group, group_token, on_ray
    from holdfast.launch.coordinator import GroupConfig
    from holdfast.supervise.session import open_folder

    count, batch = recipe.hardware.processes, recipe.train.batch
    least = args.least_processes or recipe.hardware.least_processes
    counts = (count, *smaller_counts(count, least, batch))
    refuse_missing_data(recipe, args.words[0], args.overrides)

    def store(count: int, own: Path) -> None:
        make_private_folder(own)
        changed = replace(recipe, hardware=replace(recipe.hardware, processes=count))
        settings.store(changed, RunFolder(own).recipe)

    terms = GroupConfig(
        count=count, token=group_token.find(args.token, args.token_file, os.environ, needed=False),
        restarts=args.restarts, on_stall=args.on_stall, resume=args.resume,
        join_s=args.join_timeout, first_attempt=attempts_before(folder) + 1,
    )  # fmt: skip
    command = (*group.TRAINER, "--accept-changes") if args.accept_changes else group.TRAINER
    with ray_cluster.connected("auto", asked_by="--on ray"):
        ray_cluster.require_same_view([path for path in (recipe.data.train, recipe.data.validation) if path])
        gpus = gpus_for_each(count, recipe.hardware.devices, there=ray_cluster.gpus(), say=print_line)
        open_folder(folder.path)  # not before: without a cluster nothing has begun
        here = on_ray.RayGroup(
            folder.path, counts, terms, store, recipe_file=folder.recipe.name,
            gpus=gpus, command=command,
        )  # fmt: skip
        with notifying(args.notify, folder):
            outcome = on_ray.run(here, say=print_line)
            print_group_end(outcome, folder)
    return outcome.exit_code


def gpus_for_each(count: int, devices: int, *, there: int, say: Callable[[str], None]) -> int:
    """As many as a process has devices, where the cluster has so many for all; else none, and the CPUs train."""
    if there >= count * devices:
        return devices
    if there:
        say(f"holdfast: trains on CPUs: {count * devices} GPUs are needed, and the Ray cluster has {there}")
    return 0


def smaller_counts(count: int, least: int | None, batch: int) -> tuple[int, ...]:
    """The smaller numbers of processes that may train this batch, from the largest down to `least`."""
    if least is None:
        return ()
    if least > count:
        raise UsageError(
            "the least number of processes is larger than the number that is to train",
            where=f"--least-processes {least}",
            found=f"hardware.processes = {count}",
            change=f"--least-processes with at most {count}, or --processes {least}",
        )
    return tuple(number for number in range(count - 1, least - 1, -1) if batch % number == 0)
