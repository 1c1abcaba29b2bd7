"""The rank of a process in a group that trains together, passed on in the environment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RANK_VARIABLE, COUNT_VARIABLE = "HOLDFAST_RANK", "HOLDFAST_PROCESSES"
COORDINATOR_VARIABLE, GROUP_DIR_VARIABLE = "HOLDFAST_COORDINATOR", "HOLDFAST_GROUP_DIR"


@dataclass(frozen=True, slots=True)
class GroupMembership:
    """`group` is the folder of the recipe and the checkpoints, the same path on all hosts. Each has its own journal."""

    rank: int
    count: int
    coordinator: str  # host:port where the engine's processes meet, at the process of rank 0
    group: Path

    def environment(self) -> dict[str, str]:
        return {
            RANK_VARIABLE: str(self.rank),
            COUNT_VARIABLE: str(self.count),
            COORDINATOR_VARIABLE: self.coordinator,
            GROUP_DIR_VARIABLE: str(self.group),
        }


def from_environment(environment: Mapping[str, str] = os.environ) -> GroupMembership | None:
    """None for a process that trains alone."""
    count = int(environment.get(COUNT_VARIABLE, "1") or 1)
    if count <= 1:
        return None
    return GroupMembership(
        int(environment[RANK_VARIABLE]),
        count,
        environment[COORDINATOR_VARIABLE],
        Path(environment[GROUP_DIR_VARIABLE]),
    )


def agent_folder(group: Path, rank: int) -> Path:
    """Rank 0 writes into the run's own folder, so that `explain` and `report` of the run are complete."""
    return group if rank == 0 else group / "peers" / str(rank)


def die_with_parent() -> None:
    """From now on this process is killed when its parent ends: the group starts another one instead, and two
    processes of one rank would write the same checkpoints. Linux only; elsewhere nothing happens."""
    import ctypes
    import signal

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG of linux/prctl.h
