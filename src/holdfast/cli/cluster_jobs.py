"""`holdfast launch vertex|slurm|kubernetes RECIPE`: prints or submits a cluster job."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.errors import UsageError

if TYPE_CHECKING:
    from holdfast.launch.jobs.job_spec import Job


def run(args: argparse.Namespace) -> int:
    target, *rest = args.words
    if len(rest) != 1:
        raise UsageError(
            f"holdfast launch {target} takes one recipe",
            where="the command line",
            change=f"holdfast launch {target} recipe.toml --dry-run",
        )
    job = _job(args, rest[0])
    if target == "vertex":
        return _vertex(args, job)
    from holdfast.launch.jobs import job_files
    from holdfast.launch.jobs import job_spec as jobs

    jobs.check(job, remote_data=target == "kubernetes")
    print(job_files.slurm(job) if target == "slurm" else job_files.kubernetes_text(job), end="")
    return 0


def _job(args: argparse.Namespace, source: str) -> Job:
    from holdfast.cli.recipes import resolve_recipe
    from holdfast.launch.jobs import job_spec as jobs

    overrides = [*args.overrides, *([f"hardware.processes={args.processes}"] if args.processes else [])]
    recipe = resolve_recipe(source, overrides)
    kind, count = jobs.accelerator_of(args.accelerator)
    name = jobs.name_of(source)
    bucket = (args.bucket or "").rstrip("/")
    if bucket and recipe.hardware.copy_to is None:
        recipe = replace(recipe, hardware=replace(recipe.hardware, copy_to=f"{bucket}/{name}"))
    return jobs.Job(
        name=name, recipe=recipe, image=args.image or "", hosts=args.hosts or 1, machine=args.machine or "",
        accelerator=kind, accelerators=count, service_account=args.service_account or "",
        tensorboard=args.tensorboard or "", spot=args.spot, bucket=f"{bucket}/{name}" if bucket else "",
        project=args.project or "", region=args.region or "", restarts=args.restarts,
    )  # fmt: skip


def _vertex(args: argparse.Namespace, job: Job) -> int:
    from holdfast.launch.jobs import job_spec as jobs
    from holdfast.launch.jobs import vertex

    jobs.check(job, remote_data=True)
    if not job.bucket:
        raise UsageError(
            "a Vertex AI job needs a bucket, because its machines are deleted when it ends",
            where="the command line",
            change="--bucket gs://BUCKET/runs",
        )
    made = vertex.request(job)
    if args.dry_run:
        print(vertex.as_json(made))
        return 0
    name = vertex.submit(job, made, endpoint=args.endpoint or "")
    print(name)
    print(f"  look     https://console.cloud.google.com/vertex-ai/training/custom-jobs?project={job.project}")
    print(f"  run      {job.recipe.hardware.copy_to}")
    return 0
