"""Which host of a group this is, as SLURM, Kubernetes, Vertex AI or the command line say it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.errors import ContradictorySettings, UsageError

PORT = 29470


@dataclass(frozen=True, slots=True)
class HostPlacement:
    host: int  # from 0
    hosts: int
    coordinator: str  # host:port of host 0


def from_arguments(host: int | None, hosts: int | None, coordinator: str | None) -> HostPlacement | None:
    """From the command line; all three or none."""
    if host is None and hosts is None and coordinator is None:
        return None
    if host is None or hosts is None or coordinator is None:
        raise UsageError(
            "--host, --hosts and --coordinator belong together",
            where="the command line",
            change="--host 0 --hosts 2 --coordinator first-host:29470, and --host 1 on the other",
        )
    if not 0 <= host < hosts:
        raise UsageError(
            f"--host is {host}; hosts are numbered 0 to {hosts - 1}",
            where="the command line",
            change=f"--host {hosts - 1}, or --hosts {host + 1}",
        )
    address, colon, port = coordinator.rpartition(":")
    if colon and not (address and port.isdigit() and 0 < int(port) < 65536):
        raise UsageError(
            "--coordinator must be a host and a port from 1 to 65535",
            where="the command line",
            found=f"--coordinator {coordinator}",
            change=f"--coordinator {address or 'first-host'}:{PORT}",
        )
    return HostPlacement(host, hosts, coordinator if colon else f"{coordinator}:{PORT}")


def from_environment(environment: Mapping[str, str]) -> HostPlacement | None:
    """None where nobody says that there are several hosts."""
    return _from_holdfast(environment) or _from_vertex(environment) or _from_slurm(environment)


def _from_holdfast(environment: Mapping[str, str]) -> HostPlacement | None:
    """As our Kubernetes job sets it: an indexed job numbers its pods, and a headless service names them."""
    head, hosts = environment.get("HOLDFAST_HEAD"), int(environment.get("HOLDFAST_HOSTS", "1") or 1)
    if not head or hosts < 2:
        return None
    return HostPlacement(int(environment["JOB_COMPLETION_INDEX"]), hosts, f"{head}:{PORT}")


def _from_slurm(environment: Mapping[str, str]) -> HostPlacement | None:
    hosts = int(environment.get("SLURM_NTASKS", "1") or 1)
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST")
    if hosts < 2 or not nodes or "SLURM_PROCID" not in environment:
        return None
    job = int(re.sub(r"\D", "", environment.get("SLURM_JOB_ID", "0")) or 0)
    return HostPlacement(int(environment["SLURM_PROCID"]), hosts, f"{first_node(nodes)}:{PORT + job % 1000}")


def _from_vertex(environment: Mapping[str, str]) -> HostPlacement | None:
    """CLUSTER_SPEC of a custom job with several replicas: pool 0 has one, pool 1 the rest."""
    try:
        spec = json.loads(environment.get("CLUSTER_SPEC") or "{}")
    except ValueError:
        return None
    cluster, task = spec.get("cluster", {}), spec.get("task", {})
    pools = [cluster[name] for name in sorted(cluster) if name.startswith("workerpool")]
    hosts = sum(len(pool) for pool in pools)
    if hosts < 2 or "type" not in task:
        return None
    before = sum(len(cluster[name]) for name in sorted(cluster) if name < task["type"])
    address = pools[0][0].rpartition(":")[0] or pools[0][0]
    return HostPlacement(before + int(task.get("index", 0)), hosts, f"{address}:{PORT}")


def first_node(nodes: str) -> str:
    """The first name of SLURM's list: `gpu[03-05,09]` begins with gpu03."""
    match = re.match(r"([^,\[]+)(?:\[([^\]-]+?)(?:[-,\]]))?", nodes)
    return f"{match[1]}{match[2] or ''}" if match else nodes


def ranks_of(spot: HostPlacement, processes: int) -> range:
    """The processes of this host: an even part, in order."""
    if processes % spot.hosts:
        raise ContradictorySettings(
            f"{processes} processes cannot be shared evenly by {spot.hosts} hosts",
            where="hardware.processes",
            change=f"--processes {spot.hosts * max(1, round(processes / spot.hosts))}",
        )
    each = processes // spot.hosts
    return range(spot.host * each, (spot.host + 1) * each)
