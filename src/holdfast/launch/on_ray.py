"""A group on a Ray cluster: `holdfast launch RECIPE --on ray`, on a machine of the cluster.

Ray gives the places: a placement group with one bundle for each process, a GPU or a core, on different nodes where it
can. In each an actor starts the same supervisor as `holdfast launch` does on a host of its own, and the coordinator is
in the command. So JAX connects the processes, and who is dead, slow or cut off is found as everywhere; Ray adds which
node has left the cluster. The supervisors end with their actor, and so with their node.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast import atomic_write, units
from holdfast.data.workers import ray_cluster
from holdfast.journal import group_membership
from holdfast.journal.events import Event, SchedulerAnswered
from holdfast.launch import agent, group
from holdfast.launch.connection import free_port, open_server
from holdfast.launch.coordinator import GroupConfig
from holdfast.launch.group import GroupResult

PLACED_TIMEOUT_S = 60.0  # for a cluster that has the room; one that grows by itself may take longer
FEWER_AFTER_S = 20.0  # a lost node may be back within that

#: Variables of this shell that the trainers get: the rest of their environment is that of Ray on their node.
PASSED_ON = ("HOLDFAST_", "JAX_", "KERAS_", "NCCL_", "TF_", "XLA_")
#: Of a trainer whose place has no GPU: Ray hides none from it, and those of its node may belong to others.
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}


@dataclass(frozen=True, slots=True)
class RayGroup:
    """What is to run. `counts` are the numbers of processes that it may run with, the wanted one first."""

    folder: Path
    counts: tuple[int, ...]
    terms: GroupConfig
    store_recipe: Callable[[int, Path], None]  # for so many processes, into this folder
    recipe_file: str = "recipe.toml"
    gpus: int = 0  # for each process
    command: tuple[str, ...] = group.TRAINER
    timeout_s: float = PLACED_TIMEOUT_S


def run(here: RayGroup, *, say: Callable[[str], None]) -> GroupResult:
    """With as many processes as wanted; with fewer when nodes are lost and the recipe allows it."""
    result, attempts, resume = GroupResult(75), 0, here.terms.resume
    for count in here.counts:
        if result.attempts and attempts:
            say(
                f"holdfast: continues with {units.count(count, 'process', 'processes')} on the nodes that are left"
            )
        terms = replace(
            here.terms, count=count, resume=resume, first_attempt=here.terms.first_attempt + attempts,
            token=here.terms.token or secrets.token_hex(16),
        )  # fmt: skip
        result, no_room = _run(here, terms, say, last=count == here.counts[-1])
        attempts, resume = attempts + result.attempts, True
        if not no_room:
            break
    return replace(result, attempts=attempts)


def _run(
    here: RayGroup, terms: GroupConfig, say: Callable[[str], None], *, last: bool
) -> tuple[GroupResult, bool]:
    """The result, and whether it ended because there is no room for so many processes."""
    for rank in range(terms.count):
        here.store_recipe(terms.count, group_membership.agent_folder(here.folder, rank))
    agents = RayAgents(here, terms, say)
    try:
        if not agents.placed(here.timeout_s if last or terms.first_attempt == 1 else FEWER_AFTER_S):
            if last:
                raise agents.no_room()
            return GroupResult(75, 0), True
        gone = (lambda: False) if last else missing_for(FEWER_AFTER_S, there=agents.all_placed)
        result = group.conduct(
            here.folder, terms, say=say, server=open_server("0.0.0.0", 0), advertised=ray_address(),
            start=agents.start, meeting=agents.meeting, noticed=note_once(agents.lost_nodes),
            gone=gone,
        )  # fmt: skip
        return result, not last and result.exit_code == 75 and not agents.all_placed()
    finally:
        agents.end()


def missing_for(
    limit_s: float, *, there: Callable[[], bool], clock: Callable[[], float] = time.monotonic
) -> Callable[[], bool]:
    """Whether at every call since so long something was not there. A supervisor that has a place may start slowly."""
    since: float | None = None

    def missing() -> bool:
        nonlocal since
        since = None if there() else clock() if since is None else since
        return since is not None and clock() - since >= limit_s

    return missing


def ray_address() -> str:
    """Of this machine, as the nodes reach it."""
    return str(ray_cluster.import_ray().util.get_node_ip_address())


class RayAgents:
    """The supervisors, each in an actor in its bundle of the placement group."""

    def __init__(self, here: RayGroup, terms: GroupConfig, say: Callable[[str], None]) -> None:
        ray = ray_cluster.import_ray()
        self._here, self._terms, self._say = here, terms, say
        self._actors: dict[int, Any] = {}
        self._started: dict[int, tuple[Any, str, str]] = {}  # the running call, coordinator and token
        self._nodes: dict[int, str] = {}
        self._named: set[str] = set()
        bundle = {"CPU": 1.0, **({"GPU": float(here.gpus)} if here.gpus else {})}
        self._group = ray.util.placement_group([bundle] * terms.count, strategy="SPREAD")

    # -- places -----------------------------------------------------------------------------------------

    def placed(self, within_s: float) -> bool:
        return bool(self._group.wait(within_s))

    def all_placed(self) -> bool:
        ray = ray_cluster.import_ray()
        return bool(ray.util.placement_group_table(self._group).get("state") == "CREATED")

    def no_room(self) -> Exception:
        each = units.count(self._here.gpus, "GPU") if self._here.gpus else "1 core"
        wanted = f"{self._terms.count} processes with {each} each"
        there = ", ".join(
            f"{node['NodeManagerHostname']}: {units.count(node['Resources'].get('CPU', 0), 'core')}, "
            f"{units.count(node['Resources'].get('GPU', 0), 'GPU')}"
            for node in ray_cluster.worker_nodes()
        )
        return ray_cluster.ClusterNotReady(
            f"the Ray cluster has no room for {wanted}",
            where="hardware.processes",
            found=there or "no nodes",
            change="--processes with a smaller number, more nodes, or wait until other jobs of the cluster have ended",
        )

    def lost_nodes(self) -> SchedulerAnswered | None:
        """Nodes of ours that Ray has declared dead since the last call, once each."""
        self.start_lost_again()
        ray = ray_cluster.import_ray()
        dead = {node["NodeID"]: node for node in ray.nodes() if not node["Alive"]}
        lost = {
            node_name(dead[node]): "dead"
            for node in self._nodes.values()
            if node in dead and node not in self._named
        }
        self._named |= set(self._nodes.values()) & set(dead)
        if not lost:
            return None
        for name in lost:
            self._say(f"holdfast: node {name} has left the Ray cluster")
        return SchedulerAnswered(
            scheduler="ray", job=self._here.folder.name, why="node-failed", failed_nodes=lost
        )

    # -- supervisors ------------------------------------------------------------------------------------

    def start(self, rank: int, coordinator: str, token: str) -> bool:
        ray = ray_cluster.import_ray()
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        self._end(rank)
        place = PlacementGroupSchedulingStrategy(
            self._group, placement_group_bundle_index=rank, placement_group_capture_child_tasks=True
        )
        options = {
            "num_cpus": 1,
            "num_gpus": self._here.gpus,
            "max_concurrency": 2,
            "scheduling_strategy": place,
        }
        actor = ray.remote(Place).options(**options).remote()
        self._actors[rank] = actor
        folder = str(self._here.folder.resolve())
        environment = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)} | {
            agent.COORDINATOR_VARIABLE: coordinator, agent.TOKEN_VARIABLE: token, agent.RANK_VARIABLE: str(rank),
            agent.GROUP_DIR_VARIABLE: folder, agent.COMMAND_VARIABLE: shlex.join(self._here.command),
            **({} if self._here.gpus else NO_GPU),
        }  # fmt: skip
        own = group_membership.agent_folder(Path(folder), rank)
        recipe = (own / self._here.recipe_file).read_text()
        running = actor.start.remote(str(own), self._here.recipe_file, recipe, environment, os.getcwd())
        self._started[rank] = running, coordinator, token
        return True

    def start_lost_again(self) -> None:
        """An actor may have been given a place on a node that had just gone, before Ray knew."""
        ray = ray_cluster.import_ray()
        for rank, (running, coordinator, token) in list(self._started.items()):
            if not ray.wait([running], timeout=0)[0]:
                continue
            del self._started[rank]
            try:
                ray.get(running)
            except ray.exceptions.RayActorError:
                self.start(rank, coordinator, token)
            except ray.exceptions.RayError as error:
                self._say(
                    f"holdfast: process {rank} could not be started: {str(error).strip().splitlines()[-1]}"
                )

    def meeting(self, attempt: int) -> str:
        """Where JAX's processes meet: at rank 0, whose node may be another one in each attempt."""
        ray = ray_cluster.import_ray()
        self._nodes = {
            rank: node
            for rank, actor in self._actors.items()
            if (node := _answer(ray, actor.node.remote())) is not None
        }
        return str(ray.get(self._actors[0].free_address.remote(), timeout=30.0))

    def end(self) -> None:
        ray = ray_cluster.import_ray()
        for rank in list(self._actors):
            self._end(rank)
        with contextlib.suppress(Exception):
            ray.util.remove_placement_group(self._group)

    def _end(self, rank: int) -> None:
        ray = ray_cluster.import_ray()
        actor, _ = self._actors.pop(rank, None), self._started.pop(rank, None)
        if actor is not None:
            with contextlib.suppress(Exception):
                ray.get(actor.leave.remote(), timeout=10.0)
            with contextlib.suppress(Exception):
                ray.kill(actor)


def _answer(ray: Any, ref: Any) -> Any:
    with contextlib.suppress(Exception):
        return ray.get(ref, timeout=10.0)
    return None


def node_name(node: dict[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})"


class Place:
    """In an actor: one supervisor, which is killed with this process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, folder: str, recipe_file: str, recipe: str, environment: dict[str, str], cwd: str) -> int:
        """Returns when it has ended."""
        ray = ray_cluster.import_ray()
        own = Path(folder)
        atomic_write.make_private_folder(own)
        if not (own / recipe_file).exists():  # another disk than that of the command
            atomic_write.write_text(own / recipe_file, recipe, private=True)
        name = f"{socket.gethostname()} ({ray.get_runtime_context().get_node_id()[:8]})"
        with contextlib.suppress(OSError):
            os.chdir(cwd)
        to = atomic_write.open_private(own / "supervisor.log", os.O_WRONLY | os.O_APPEND)
        with os.fdopen(to, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "holdfast.launch.agent"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=os.environ | environment | {agent.HOST_VARIABLE: name, agent.PARENT_VARIABLE: str(os.getpid())},
            )  # fmt: skip
        return self._process.wait()

    def node(self) -> str:
        ray = ray_cluster.import_ray()
        return str(ray.get_runtime_context().get_node_id())

    def free_address(self) -> str:
        ray = ray_cluster.import_ray()
        return f"{ray.util.get_node_ip_address()}:{free_port()}"

    def leave(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            until = time.monotonic() + 5.0
            while self._process.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            if self._process.poll() is None:
                self._process.kill()


def note_once(found: Callable[[], SchedulerAnswered | None]) -> Callable[[], Event | None]:
    """For the coordinator's loop: at most once in two seconds, and never an exception of Ray."""
    last = [0.0]

    def look() -> Event | None:
        if time.monotonic() - last[0] < 2.0:
            return None
        last[0] = time.monotonic()
        with contextlib.suppress(Exception):
            return found()
        return None

    return look
