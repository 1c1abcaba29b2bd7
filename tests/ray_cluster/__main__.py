"""`python -m tests.ray_cluster [--images N]`: every data job in one process and on two Ray nodes, and what is killed.

The cluster is Ray's own, of two nodes with one core each on this machine; as root it runs in a network namespace that
has a loopback and nothing else. Results are compared by digests, byte for byte.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from holdfast.data.synthetic import make_dataset
from tests.ray_cluster import killed, training
from tests.ray_cluster.bucket import from_a_bucket, store
from tests.ray_cluster.gpu_places import CORES, GPUS, gpu_places
from tests.ray_cluster.memory import measured_memory
from tests.ray_cluster.ray_jobs import Jobs, kill_a_worker, times, tree
from tests.ray_cluster.training import Training

LOST_AT = 30  # the step
PARTS = ("gpus", "data", "killed", "bucket", "memory", "train")
INSIDE = "HOLDFAST_IN_NAMESPACE"


def prepare(jobs: Jobs, count: int) -> None:
    """A dataset with faults, its repaired copy, one of a few images, and a model."""
    make_dataset(jobs.folder / "data", count=count, side=640, dirt=True)
    make_dataset(jobs.folder / "few", count=24, side=160)
    jobs.timed("data", "repair", "data", "clean", workers="1")
    save_model(jobs.folder / "model.npz")


def data_jobs(jobs: Jobs) -> None:
    folder = jobs.folder
    check = ("check", "data", "--json", "--no-speed")
    one = jobs.timed(*check, "--no-cache", workers="1")
    two = jobs.timed(*check, "--no-cache", workers="auto")
    jobs.row("check", one.digest, two.digest, times(one, two))
    hurt = jobs.timed(*check, "--no-cache", workers="auto", harm=kill_a_worker)
    jobs.row("check, a worker killed", one.digest, hurt.digest, f"{hurt.took_s:.1f} s")
    client = jobs.timed(*check, "--no-cache", workers=jobs.elsewhere)
    jobs.row("check, from outside (ray://)", one.digest, client.digest, f"{client.took_s:.1f} s")
    for name, words in (
        ("repair", ("data", "repair", "data")),
        ("convert to coco", ("data", "convert", "clean", "--to", "coco")),
        ("convert to tfrecord", ("data", "convert", "clean", "--to", "tfrecord", "--shards", "8")),
    ):
        written = []
        for workers in ("1", "auto"):
            target = f"{name.split()[-1]}-{workers}"
            written.append(jobs.timed(words[0], words[1], words[2], target, *words[3:], workers=workers))
        one, two = written
        digests = [tree(folder / f"{name.split()[-1]}-{workers}") for workers in ("1", "auto")]
        jobs.row(name, *digests, times(one, two) if one.code == two.code == 0 else two.error[-300:])
    pack = ("data", "pack", "clean", "--size", "128")
    one = jobs.timed(*pack, "--cache", "packs-1", workers="1")
    two = jobs.timed(*pack, "--cache", "packs-auto", workers="auto")
    jobs.row("pack", tree(folder / "packs-1"), tree(folder / "packs-auto"), times(one, two))


def model_jobs(jobs: Jobs, count: int) -> None:
    images = [f"clean/images/{name}" for name in sorted(os.listdir(jobs.folder / "clean" / "images"))[:count]]
    predict = ("predict", "model.npz", *images, "--json", "--score", "0.01")
    one, two = (jobs.timed(*predict, workers=workers) for workers in ("1", "auto"))
    jobs.row("predict", one.digest, two.digest, times(one, two) if two.out else two.error[-400:])
    evaluate = ("eval", "model.npz", "few", "--json")
    one, two = (jobs.timed(*evaluate, workers=workers) for workers in ("1", "auto"))
    jobs.row("eval", one.digest, two.digest, times(one, two) if two.out else two.error[-400:])


def trainings(jobs: Jobs, address: str, orders: Callable[[str], None]) -> None:
    """Undisturbed; with a node lost and another one added; with a node lost and the rest."""
    folder = jobs.folder
    training.recipe_in(folder)
    code, whole = Training(folder, "whole", address).ended()
    print(f"      training, undisturbed: exit code {code}, weights {whole[:12]}", flush=True)
    run = Training(folder, "replaced", address)
    run.wait_for_step(LOST_AT)
    orders("lose")
    orders("add")
    code, again = run.ended()
    said = run.said("has left the Ray cluster") or "the node is not named"
    jobs.row("training, a node lost and replaced", whole, again, f"exit code {code}; {said}")
    jobs.bad += "has left" not in said
    run = Training(folder, "fewer", address, "--set", "hardware.least_processes=1")
    run.wait_for_step(LOST_AT)
    orders("lose")
    code, fewer = run.ended()
    said = run.said("continues with") or "it did not continue"
    print(f"      training, a node lost: exit code {code}, weights {fewer[:12]}; {said}", flush=True)
    jobs.bad += code != 0 or not fewer


def save_model(path: Path) -> None:
    """An SSD that was never trained, in a process of its own: Keras would stay in this one."""
    program = (
        "import sys, pathlib; from tests.ray_cluster import model; model.write(pathlib.Path(sys.argv[1]))"
    )
    environment = os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, env=environment)


@contextlib.contextmanager
def cluster(
    folder: Path, environment: Mapping[str, str] = MappingProxyType({}), *size: str
) -> Iterator[tuple[list[str], subprocess.Popen[str]]]:
    file = folder / "address"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.ray_cluster.two_nodes", str(file), *size],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
        env=os.environ | environment,
    )  # fmt: skip
    try:
        for _ in range(6_000):
            if file.exists():
                break
            time.sleep(0.1)
        yield file.read_text().split(), process
    finally:
        with contextlib.suppress(OSError, ValueError):
            process.communicate("end\n", timeout=30)
        process.kill()
        process.wait()


def gpus(folder: Path) -> int:
    """How much was wrong."""
    own = folder / "gpus"
    own.mkdir()
    with cluster(own, {}, CORES, GPUS) as ((address, _), _process):
        jobs = Jobs(own, address)
        gpu_places(jobs, address)
    return jobs.bad


def on_two_nodes(folder: Path, wanted: Collection[str], images: int) -> int:
    """How much was wrong."""
    with (
        store() as shop,
        cluster(folder, shop.workers_see) as ((address, elsewhere), process),
    ):
        jobs = Jobs(folder, address, elsewhere)
        if {*wanted} & {"data", "killed", "bucket"}:
            prepare(jobs, images)
        if "data" in wanted:
            data_jobs(jobs)
            model_jobs(jobs, 64)
        if "killed" in wanted:
            killed.every_job(jobs)
        if "bucket" in wanted:
            from_a_bucket(jobs, shop)
        if "memory" in wanted:
            measured_memory(jobs)
        if "train" in wanted:
            trainings(jobs, address, lambda order: _order(process, order))
    return jobs.bad


def _order(process: subprocess.Popen[str], order: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{order}\n")
    process.stdin.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=600)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    args = parser.parse_args()
    if os.geteuid() == 0 and INSIDE not in os.environ and shutil.which("unshare"):
        script = 'ip link set lo up && exec "$0" -m tests.ray_cluster "$@"'
        words = ["unshare", "--net", "sh", "-c", script, sys.executable, *sys.argv[1:]]
        return subprocess.run(words, env=os.environ | {INSIDE: "1"}, check=False).returncode
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the cluster is taken down then, too
    folder = Path(tempfile.mkdtemp(prefix="holdfast-ray-"))
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder / "compiled")  # of all commands, and of the nodes
    try:
        bad = gpus(folder) if "gpus" in args.only else 0
        if set(args.only) != {"gpus"}:
            bad += on_two_nodes(folder, args.only, args.images)
        print(json.dumps({"bad": bad}))
        return 1 if bad else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
