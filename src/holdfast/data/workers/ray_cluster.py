"""The connection to a Ray cluster, and whether its nodes have the same Holdfast and see the same files."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

import holdfast
from holdfast.data.files import filesystem
from holdfast.errors import HoldfastError, needs

CONNECT_TIMEOUT_S, _LOOK_TIMEOUT_S = 60.0, 60.0


class ClusterNotReady(HoldfastError):
    """The Ray cluster is not there, or one of its nodes cannot do the work."""

    slug = "cluster-not-ready"


def import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
        import ray.util
    except ImportError:
        raise needs("ray", "ray", "working on a Ray cluster") from None
    return ray


@contextlib.contextmanager
def connected(address: str, *, asked_by: str = "") -> Iterator[None]:
    """Connects where this process is not connected yet, and leaves the cluster at the end."""
    ray = import_ray()
    if ray.is_initialized():
        yield
        return
    try:
        _connect(ray, address)
    except Exception as error:  # Ray raises ConnectionError, RuntimeError and others of its own
        raise ClusterNotReady(
            "the Ray cluster cannot be reached",
            where=asked_by or f"--workers {address}",
            found=f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[
                :300
            ],
            change=_ways_out(address, asked_by),
        ) from None
    result, sys.stdout = sys.stdout, MainThreadOutput(sys.stdout)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # a cluster that has gone
            ray.shutdown()
        sys.stdout = result


def _ways_out(address: str, asked_by: str) -> list[str]:
    here = "`ray start --head` here, and `ray start --address HOST:6379` on the others"
    if asked_by:
        return [here, f"leave out {asked_by}: then this machine alone trains"]
    if address == "auto":
        elsewhere = (
            "--workers ray://HOST:10001 for a cluster elsewhere, with the same versions of Ray and Python"
        )
        return [here, elsewhere, "--workers N, which needs no Ray"]
    same = "the address of the cluster's head and its client port (10001), and the same versions of Ray and Python here"
    return [same, "--workers N, which needs no Ray"]


class MainThreadOutput:
    """Standard output for the command's own thread. Ray prints there too, in a thread of its own, when a worker is
    lost, in the middle of a result. What it prints is left out: a lost worker is seen to here."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        own = threading.current_thread() is threading.main_thread()
        return self._out.write(text) if own else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


def _connect(ray: Any, address: str) -> None:
    """Ray itself tries for minutes, and prints about it, when a cluster does not answer."""
    failures: list[BaseException] = []
    logging.getLogger("ray").setLevel(logging.ERROR)

    def connect() -> None:
        try:
            ray.init(address=address, logging_level="ERROR", log_to_driver=False, configure_logging=False)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=connect, name="ray", daemon=True)
    thread.start()
    thread.join(CONNECT_TIMEOUT_S)
    if thread.is_alive():
        raise TimeoutError(f"no answer within {CONNECT_TIMEOUT_S:.0f} s")
    if failures:
        raise failures[0]


def worker_nodes() -> list[dict[str, Any]]:
    """Those that are alive and have a core to give."""
    ray = import_ray()
    return [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]


def cores() -> int:
    return max(1, int(sum(node["Resources"]["CPU"] for node in worker_nodes())))


def gpus() -> int:
    return int(sum(node["Resources"].get("GPU", 0) for node in worker_nodes()))


def require_same_view(paths: Iterable[str]) -> None:
    """Every node is asked once: a file that one of them does not see would be reported as missing from the dataset."""
    local = [os.path.abspath(path) for path in paths if path and not filesystem.is_url(path)]
    wanted = {path: _glance(path) for path in local if os.path.exists(path)}
    nodes = worker_nodes()
    if not nodes:
        raise ClusterNotReady(
            "the Ray cluster has no node with a core to give",
            change="ray start --address HOST:6379 --num-cpus N",
        )
    for node, answer in zip(nodes, _asked(nodes, list(wanted)), strict=True):
        _refuse_other_version(node, answer)
        for path, here in wanted.items():
            if answer["files"][path] != here:
                raise ClusterNotReady(
                    f"node {node['NodeManagerHostname']} does not see the same files as this machine",
                    where=path,
                    found=f"there: {answer['files'][path]}; here: {here}",
                    change="put the data on a disk that all nodes share under the same path, or in a bucket (gs://…, s3://…)",
                )


def _asked(nodes: list[dict[str, Any]], paths: list[str]) -> list[dict[str, Any]]:
    ray = import_ray()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # By reference: `look` is imported on the node, where an ImportError says that Holdfast is missing.
    look = ray.remote(num_cpus=0, max_retries=1)(_look)
    refs = [
        look.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(paths)
        for node in nodes
    ]  # fmt: skip
    answers = []
    for node, ref in zip(nodes, refs, strict=True):
        try:
            answers.append(ray.get(ref, timeout=_LOOK_TIMEOUT_S))
        except Exception as error:
            raise ClusterNotReady(
                f"node {node['NodeManagerHostname']} cannot run Holdfast",
                where=f"node {node['NodeManagerAddress']}",
                found=str(error).strip().splitlines()[-1][:300],
                change=f"pip install 'holdfast[ray]=={holdfast.__version__}' on every node, for the Python of Ray",
            ) from None
    return answers


def _refuse_other_version(node: dict[str, Any], answer: dict[str, Any]) -> None:
    if answer["holdfast"] != holdfast.__version__:
        raise ClusterNotReady(
            f"node {node['NodeManagerHostname']} has another version of Holdfast, and results could differ",
            found=f"there: {answer['holdfast']}; here: {holdfast.__version__}",
            change=f"pip install 'holdfast[ray]=={holdfast.__version__}' on that node",
        )


def _look(paths: list[str]) -> dict[str, Any]:
    """On a node."""
    return {
        "holdfast": holdfast.__version__,
        "python": sys.version.split()[0],
        "files": {path: _glance(path) for path in paths},
    }


def _glance(path: str) -> str:
    """Of a file its size, of a folder its first names: enough to tell another disk from the same."""
    try:
        if os.path.isdir(path):
            with os.scandir(path) as found:
                names = sorted(entry.name for entry, _ in zip(found, range(1000), strict=False))
            return f"a folder with {', '.join(names[:3])}" if names else "an empty folder"
        return f"a file of {os.path.getsize(path)} bytes"
    except OSError as error:
        return f"nothing ({error.strerror})"
