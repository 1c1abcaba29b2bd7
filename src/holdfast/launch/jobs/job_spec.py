"""A job for a cloud or a cluster, in words that all of them share."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from holdfast.errors import ContradictorySettings, UsageError
from holdfast.launch import group_token
from holdfast.settings.recipe import Recipe
from holdfast.settings.write import to_toml

#: The recipe travels with the job; spot machines start the same command again and go on.
SCRIPT = (
    'recipe=$(mktemp --suffix .toml) && printf %s "$HOLDFAST_RECIPE" > "$recipe" && '
    'exec holdfast launch "$recipe" --run-dir {run_dir} --resume --restarts {restarts}'
)


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    recipe: Recipe
    image: str = ""
    hosts: int = 1
    machine: str = ""
    accelerator: str = ""
    accelerators: int = 0
    service_account: str = ""
    tensorboard: str = ""
    spot: bool = False
    bucket: str = ""
    project: str = ""
    region: str = ""
    restarts: int = 3
    token: str = field(default_factory=group_token.new, repr=False)  # of the group; random for each job

    @property
    def recipe_text(self) -> str:
        return to_toml(self.recipe)

    def script(self, run_dir: str) -> str:
        return SCRIPT.format(run_dir=run_dir, restarts=self.restarts)


def accelerator_of(text: str | None) -> tuple[str, int]:
    """`NVIDIA_L4:2` is two; without a number it is one."""
    if not text:
        return "", 0
    kind, colon, count = text.partition(":")
    if colon and not (count.isdigit() and int(count)):
        raise UsageError(
            f"--accelerator {text} has no number of at least 1 after the colon",
            where="the command line",
            change=f"--accelerator {kind}:1",
        )
    return kind, int(count) if count else 1


def name_of(source: str) -> str:
    """Lower case, digits and dashes, as Kubernetes and SLURM take it."""
    stem = source.rstrip("/").rpartition("/")[2].removesuffix(".toml")
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:50] or "holdfast"


def check(job: Job, *, remote_data: bool) -> None:
    """Refuses what would fail on the first machine, before one is paid for."""
    for key, path in (("data.train", job.recipe.data.train), ("data.validation", job.recipe.data.validation)):
        if remote_data and path and "://" not in path:
            raise ContradictorySettings(
                f"{key} is a path of this machine, and the job runs on another",
                where=key,
                found=path,
                change=f"copy it to a bucket (`gcloud storage cp -r {path} gs://BUCKET/data`), then {key} = gs://BUCKET/data",
            )
    processes = job.recipe.hardware.processes
    if processes % job.hosts:
        raise ContradictorySettings(
            f"{processes} processes cannot be shared evenly by {job.hosts} hosts",
            where="hardware.processes",
            change=f"--processes {job.hosts * max(1, round(processes / job.hosts))}",
        )


def require_image(job: Job) -> None:
    if not job.image:
        raise UsageError(
            "the job needs a container image with Holdfast in it",
            where="the command line",
            change="docker build -t IMAGE . && docker push IMAGE, then --image IMAGE",
        )
