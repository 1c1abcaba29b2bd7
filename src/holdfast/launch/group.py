"""A group on this host: starts its members, conducts them where rank 0 is, and leaves nothing running."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.atomic_write import make_private_folder, open_private
from holdfast.journal import group_membership
from holdfast.journal.events import Event
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter
from holdfast.launch import agent, group_table, stop_signals
from holdfast.launch.connection import open_server
from holdfast.launch.coordinator import Coordinator, GroupConfig
from holdfast.launch.group_health import AgentExit, ProcessStatus
from holdfast.supervise.scheduler.job_watch import JobWatch

TRAINER = (sys.executable, "-m", "holdfast.train")
AGENT_EXIT_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class LocalGroup:
    """The part of a group that runs on this host."""

    folder: Path
    ranks: Sequence[int]
    terms: GroupConfig
    coordinator: str = ""  # host:port of the coordinator; empty where that is here
    listen: str = "127.0.0.1"
    port: int = 0
    command: tuple[str, ...] = TRAINER


@dataclass(frozen=True, slots=True)
class GroupResult:
    exit_code: int
    attempts: int = 1
    blamed: AgentExit | None = None


def run(here: LocalGroup, *, say: Callable[[str], None]) -> GroupResult:
    """Until the group has ended; the exit code is the group's."""
    members = LocalAgents(here)
    try:
        if here.coordinator:
            return GroupResult(members.wait(here.coordinator))
        return _run_coordinator(here, members, say)
    finally:
        members.end()


def _run_coordinator(here: LocalGroup, members: LocalAgents, say: Callable[[str], None]) -> GroupResult:
    terms = replace(here.terms, token=here.terms.token or secrets.token_hex(16))
    return conduct(
        here.folder, terms, say=say, server=open_server(here.listen, here.port), start=members.start
    )


def conduct(
    folder: Path,
    terms: GroupConfig,
    *,
    say: Callable[[str], None],
    server: socket.socket,
    start: Callable[[int, str, str], bool],
    advertised: str = "127.0.0.1",
    meeting: Callable[[int], str] | None = None,
    noticed: Callable[[], Event | None] = lambda: None,
    gone: Callable[[], bool] = lambda: False,
) -> GroupResult:
    """The coordinator, until the group has ended. `start` gets a rank, the coordinator's address and the token."""
    writer = JournalWriter(RunFolder(folder).journal, by="conductor", attempt=terms.first_attempt)

    def note(event: Event) -> None:
        writer.attempt = attempt()
        with contextlib.suppress(OSError):  # those who watch it report a full disk
            writer.append(event)

    address = f"{advertised}:{server.getsockname()[1]}"

    def attempt() -> int:
        """The one that runs, or ran last."""
        return terms.first_attempt + max(0, coordinator.attempts - 1)

    def show(seen: list[ProcessStatus], attempt: int) -> None:
        found = group_table.group_rows(seen, time.monotonic())
        group_table.write(folder, found, attempt=attempt, at=time.time())

    coordinator = Coordinator(
        terms, server, say=say, note=note, show=show, meeting=meeting, noticed=lambda: take_signals() or noticed(),
        gone=gone,
        respawn=lambda rank: start(rank, address, terms.token),
    )  # fmt: skip
    job = JobWatch(RunFolder(folder), attempt=attempt)

    def asked(name: str, sender: int | None, command: str) -> None:
        coordinator.ask_to_end(name, sender, command)
        if name == "SIGTERM":
            job.asked_to_end()

    with stop_signals.watching(asked) as take_signals:
        job.begin()
        code = coordinator.run()
        job.close()
    return GroupResult(code, coordinator.attempts, coordinator.blamed)


class LocalAgents:
    """The supervisors that were started here."""

    def __init__(self, here: LocalGroup) -> None:
        self._here = here
        self._started: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, rank: int, coordinator: str, token: str) -> bool:
        """False for a rank of another host. What rank 0 prints is shown; the others' is in their output.log."""
        here = self._here
        if rank not in here.ranks:
            return False
        old = self._started.get(rank)
        if old is not None and old.poll() is None:
            return True  # it is on its way
        folder = group_membership.agent_folder(here.folder, rank)
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_private_folder(folder)
        index, members = here.ranks.index(rank), len(here.ranks)
        cores = cores_of(index, members, os.sched_getaffinity(0))
        environment = os.environ | {
            agent.COORDINATOR_VARIABLE: coordinator, agent.TOKEN_VARIABLE: token, agent.RANK_VARIABLE: str(rank),
            agent.GROUP_DIR_VARIABLE: str(here.folder), agent.COMMAND_VARIABLE: shlex.join(here.command),
            agent.CORES_VARIABLE: ",".join(map(str, cores)), **gpus_of(index, members, os.environ),
        }  # fmt: skip
        with os.fdopen(open_private(folder / "supervisor.log", os.O_WRONLY | os.O_APPEND), "ab") as log:
            self._started[rank] = subprocess.Popen(
                [sys.executable, "-m", "holdfast.launch.agent"], env=environment, stdin=subprocess.DEVNULL,
                stdout=None if rank == 0 else subprocess.DEVNULL, stderr=log, start_new_session=True,
            )  # fmt: skip
        return True

    def wait(self, coordinator: str) -> int:
        """On a host without the coordinator: until all members here have left."""
        for rank in self._here.ranks:
            self.start(rank, coordinator, self._here.terms.token)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda taken, _frame: self._pass_on(taken))
        return max(one.wait() for one in self._started.values())

    def _pass_on(self, number: int) -> None:
        for one in self._started.values():
            with contextlib.suppress(ProcessLookupError):
                one.send_signal(number)

    def end(self) -> None:
        for one in self._started.values():
            try:
                one.wait(AGENT_EXIT_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


def cores_of(index: int, members: int, usable: set[int]) -> list[int]:
    """An even part of the cores for each, so that they do not crowd each other; all of them where there are too few."""
    cores = sorted(usable)
    each = len(cores) // members
    return cores[index * each : (index + 1) * each] if each else cores


def gpus_of(index: int, members: int, environment: os._Environ[str]) -> dict[str, str]:
    """An even part of the GPUs for each of several members, unless somebody has chosen already."""
    count = len(list(Path("/dev").glob("nvidia[0-9]*")))
    if members < 2 or count < members or "CUDA_VISIBLE_DEVICES" in environment:
        return {}
    each = count // members
    return {"CUDA_VISIBLE_DEVICES": ",".join(str(n) for n in range(index * each, (index + 1) * each))}
