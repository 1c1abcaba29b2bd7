"""The job of SLURM that this process belongs to, and why SLURM ends it.

`scontrol` says more than the signal: a job that is preempted has a time of preemption, one at its time limit ends now,
and one whose node was lost has been started again already.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast.journal.events import AskedBecause, JobStarted, SchedulerAnswered

JOB_VARIABLE, RESTARTS_VARIABLE, NODES_VARIABLE = "SLURM_JOB_ID", "SLURM_RESTART_COUNT", "SLURM_JOB_NODELIST"
ANSWER_TIMEOUT_S = 5.0
#: SLURM warns up to a minute earlier than `--signal` asks for, which is a minute before the limit.
_NEAR_THE_LIMIT_S = 180.0
_FAILED_STATES = ("DOWN", "FAIL", "NOT_RESPONDING", "POWERED_DOWN")

Command = Callable[[tuple[str, ...]], str]


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """As `scontrol show job` has it."""

    state: str
    restarts: int
    ends_at: float | None
    limited: bool
    preempted: bool


def started(environment: Mapping[str, str], command: Command | None = None) -> JobStarted | None:
    """None outside of a job."""
    number = environment.get(JOB_VARIABLE)
    if not number:
        return None
    job = _job(number, command or scontrol)
    return JobStarted(
        scheduler="slurm", job=number, nodes=environment.get(NODES_VARIABLE, ""),
        restarts=_restarts(environment), ends_at=job.ends_at if job and job.limited else None,
    )  # fmt: skip


def asked_to_end(
    environment: Mapping[str, str], *, now: float, command: Command | None = None
) -> SchedulerAnswered | None:
    """Why, when SIGTERM has come. None outside of a job, and where `scontrol` does not answer."""
    number, ask = environment.get(JOB_VARIABLE), command or scontrol
    job = _job(number, ask) if number else None
    if number is None or job is None:
        return None
    failed = failed_nodes(environment.get(NODES_VARIABLE, ""), ask)
    return SchedulerAnswered(
        scheduler="slurm", job=number, why=why(job, now=now, restarts=_restarts(environment), failed=failed),
        state=job.state, ends_at=job.ends_at, failed_nodes=failed,
    )  # fmt: skip


def why(job: SlurmJob, *, now: float, restarts: int, failed: Mapping[str, str]) -> AskedBecause:
    """`restarts` is what the job had when this process began."""
    if job.preempted:
        return "preempted"
    if job.restarts > restarts or (failed and job.state != "RUNNING"):
        return "node-failed" if failed else "requeued"
    at_limit = job.limited and job.ends_at is not None and job.ends_at - now < _NEAR_THE_LIMIT_S
    if job.state == "TIMEOUT" or (at_limit and job.state == "RUNNING"):
        return "time-limit"
    return "signalled" if job.state == "RUNNING" else "cancelled"


def ended_before(number: str, nodes_before: str, command: Command | None = None) -> SchedulerAnswered | None:
    """Of a job that was started again: the nodes of its last start that have failed. None where all are there."""
    failed = failed_nodes(nodes_before, command or scontrol)
    if not failed:
        return None
    return SchedulerAnswered(
        scheduler="slurm", job=number, why="node-failed", failed_nodes=failed, later=True
    )


def failed_nodes(nodes: str, command: Command) -> dict[str, str]:
    """Those that SLURM cannot reach: their state, and why."""
    found = {}
    for line in command(("show", "node", "-o", nodes)).splitlines() if nodes else ():
        node = fields(line)
        if any(word in node.get("State", "") for word in _FAILED_STATES):
            reason = re.sub(r" \[.*", "", node.get("Reason", ""))
            found[node.get("NodeName", "")] = f"{node['State']}: {reason}" if reason else node["State"]
    return found


def fields(line: str) -> dict[str, str]:
    """Of `scontrol -o`: words of NAME=VALUE; a word without a name belongs to the value before it."""
    found: dict[str, str] = {}
    name = ""
    for word in line.split():
        head, equals, value = word.partition("=")
        if equals and re.fullmatch(r"[A-Z][\w:/]*", head):
            name = head
            found[name] = value
        elif name:
            found[name] += f" {word}"
    return found


def scontrol(words: tuple[str, ...]) -> str:
    """What it prints; nothing where there is none, or its controller does not answer in time."""
    try:
        return subprocess.run(
            ("scontrol", *words), capture_output=True, text=True, check=False, timeout=ANSWER_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        ).stdout  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _job(number: str, command: Command) -> SlurmJob | None:
    found = fields(command(("show", "job", "-o", number)))
    if "JobState" not in found:
        return None
    restarts = found.get("Restarts", "0")
    return SlurmJob(
        state=found["JobState"],
        restarts=int(restarts) if restarts.isdigit() else 0,
        ends_at=_seconds(found.get("EndTime", "")),
        limited=found.get("TimeLimit", "UNLIMITED") != "UNLIMITED",
        preempted=_seconds(found.get("PreemptTime", "")) is not None,
    )


def _restarts(environment: Mapping[str, str]) -> int:
    count = environment.get(RESTARTS_VARIABLE, "0")
    return int(count) if count.isdigit() else 0


def _seconds(text: str) -> float | None:
    """SLURM writes the local time of the machine; None for `Unknown`, `None` and `N/A`."""
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None
