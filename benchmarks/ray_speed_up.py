"""How much faster two workers are than one, as processes and as Ray nodes: `python benchmarks/ray_speed_up.py`.

Needs `pip install "holdfast[ray]"` and two cores that do nothing else. `--images` of 640 x 480 with about the bytes of
COCO's. Times are of the whole command, with its start and the connection to the cluster.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks import data_jobs
from tests.ray_cluster.__main__ import cluster

DRAWN = 400  # the others are copies with a comment of their own: drawing takes longer than any job
JOBS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "`check`": lambda out: ("check", "data", "--no-cache", "--no-speed", "--json"),
    "`data pack` to 224 px": lambda out: ("data", "pack", "data", "--size", "224", "--cache", out),
    "`data convert` to TFRecord": lambda out: ("data", "convert", "data", out, "--to", "tfrecord"),
}


def took_s(folder: Path, address: str, job: str, workers: str) -> float:
    out = folder / "out"
    environment = os.environ | {
        "RAY_ADDRESS": address, "XDG_CACHE_HOME": str(folder / "cache"), "JAX_PLATFORMS": "cpu"
    }  # fmt: skip
    command = [sys.executable, "-m", "holdfast", *JOBS[job](str(out)), "--workers", workers]
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    shutil.rmtree(out, ignore_errors=True)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=12_000)
    count = parser.parse_args().images
    folder = Path(tempfile.mkdtemp(prefix="holdfast-ray-speed-"))
    try:
        data_jobs.make(folder / "data", count, drawn=DRAWN)
        with cluster(folder) as ((address, _), _):
            print(
                f"{count} images\n\n| job | one process | two processes | two Ray nodes |\n|---|---|---|---|"
            )
            for job in JOBS:
                one, two, ray = (took_s(folder, address, job, workers) for workers in ("1", "2", "auto"))
                ratios = (f"{time_s:.0f} s, {one / time_s:.2f} times" for time_s in (two, ray))
                print(f"| {job} | {one:.0f} s | {' | '.join(ratios)} |", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
