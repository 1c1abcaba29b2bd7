"""Which GPUs the trainers of `holdfast launch --on ray` get, on nodes whose GPUs Ray only believes in.

Two nodes with three cores and two GPUs each. The trainers compute nothing: what counts is the placement group that
was asked for, and what each trainer finds in CUDA_VISIBLE_DEVICES.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from holdfast.data.workers import ray_cluster
from holdfast.host import procfs
from tests.ray_cluster.ray_jobs import Jobs
from tests.ray_cluster.training import recipe_in

CORES, GPUS = "3", "2"  # of each node
PATIENCE_S = 600.0

#: Processes and devices of each; the bundle of each; how often which GPUs are seen; what is said.
CASES = (
    (4, 1, {"CPU": 1.0, "GPU": 1.0}, {"0": 2, "1": 2}, ""),
    (2, 2, {"CPU": 1.0, "GPU": 2.0}, {"0,1": 2}, ""),
    (5, 1, {"CPU": 1.0}, {"-1": 5}, "5 GPUs are needed, and the Ray cluster has 4"),
)


def gpu_places(jobs: Jobs, address: str) -> None:
    recipe_in(jobs.folder)
    for processes, devices, bundle, wanted, said in CASES:
        name = f"{processes} processes, {devices} GPUs each"
        run = jobs.folder / name.replace(" ", "-")
        bundles, seen, log = _trained(run, address, processes, devices)
        jobs.require(bundles == [bundle] * processes, f"{name}: bundles {bundles}")
        places = sorted(f"{node[:6]}:{gpus}" for node, gpus in seen)
        jobs.require(Counter(gpus for _, gpus in seen) == wanted, f"{name}: GPUs seen {places}")
        if bundle.get("GPU"):
            jobs.require(len(set(seen)) == processes, f"{name}: no GPU is given twice")
        jobs.require(
            "exit code 0" in log, f"{name}: {log[-400:] if 'exit code 0' not in log else 'finished'}"
        )
        jobs.require(
            said in log and ("GPUs are needed" in log) == bool(said), f"{name}: {said or 'says nothing'}"
        )


def _trained(
    run: Path, address: str, processes: int, devices: int
) -> tuple[list[dict[str, float]], list[tuple[str, str]], str]:
    """The bundles of the placement group, the node and the GPUs of each trainer, and what the command printed."""
    words = ["launch", str(run.parent / "recipe.toml"), "--on", "ray", "--run-dir", str(run)]
    words += [
        "--processes",
        str(processes),
        "--set",
        f"hardware.devices={devices}",
        "--set",
        "train.batch=40",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.ray_cluster.light_holdfast", *words],
        env=os.environ | {"RAY_ADDRESS": address}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    until = time.monotonic() + PATIENCE_S
    trainers: list[int] = []
    while process.poll() is None and time.monotonic() < until and len(trainers) < processes:
        time.sleep(0.2)
        trainers = _trainers(run)
    seen = [_seen(pid) for pid in trainers]
    bundles = _bundles(address) if process.poll() is None else []
    log = process.communicate(timeout=PATIENCE_S)[0]
    return bundles, seen, f"{log}\nexit code {process.returncode}"


def _trainers(run: Path) -> list[int]:
    found = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    lines = {pid: procfs.command_line(pid) for pid in found}
    return [pid for pid, line in lines.items() if "tests.launch.light_peer" in line and str(run) in line]


def _seen(pid: int) -> tuple[str, str]:
    """Its node, and CUDA_VISIBLE_DEVICES, or "all" where the variable is not set."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/environ").read_text().split("\0")
        found = dict(line.split("=", 1) for line in lines if "=" in line)
        return found.get("HOLDFAST_AGENT_HOST", "").rsplit("(", 1)[-1], found.get(
            "CUDA_VISIBLE_DEVICES", "all"
        )
    return "", "the trainer had gone"


def _bundles(address: str) -> list[dict[str, float]]:
    ray = ray_cluster.import_ray()
    with ray_cluster.connected(address):
        table: dict[str, Any] = ray.util.placement_group_table()
        groups = [one for one in table.values() if one["state"] == "CREATED"]
        return [dict(bundle) for one in groups for bundle in one["bundles"].values()]
