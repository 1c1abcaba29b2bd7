"""The supervisor of one process of a group: `python -m holdfast.launch.agent`. It watches as `holdfast train`
does, reports to the coordinator twice a second, and does as the coordinator says.

The coordinator's address, this process's rank and the folders come in the environment, so that no secret is in a
list of processes.
"""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import shlex
import signal
import socket
import sys
import threading
import time
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from holdfast.host import procfs
from holdfast.journal import group_membership, step_timing
from holdfast.journal.beats import BeatReader
from holdfast.journal.folder import RunFolder
from holdfast.launch import messages, stop_signals
from holdfast.launch.connection import MessageConnection, NotAMessage, split_address
from holdfast.launch.messages import FROM_COORDINATOR, Message
from holdfast.stderr import print_line
from holdfast.supervise import session
from holdfast.supervise.child import spawn
from holdfast.supervise.stack_capture import capture

COORDINATOR_VARIABLE, TOKEN_VARIABLE, RANK_VARIABLE, GROUP_DIR_VARIABLE = (
    "HOLDFAST_COORDINATOR",
    "HOLDFAST_GROUP_TOKEN",
    "HOLDFAST_AGENT_RANK",
    "HOLDFAST_AGENT_DIR",
)
COMMAND_VARIABLE, CORES_VARIABLE = "HOLDFAST_AGENT_COMMAND", "HOLDFAST_AGENT_CORES"
HOST_VARIABLE = "HOLDFAST_AGENT_HOST"  # its name in reports, where the host's own does not tell nodes apart
PARENT_VARIABLE = "HOLDFAST_AGENT_PARENT"  # it ends with this process
REPORT_EVERY_S = 0.5
CONNECT_TIMEOUT_S = 600.0  # the host of the coordinator may come up later than this one
SILENT_S = 20.0  # the coordinator asks several times a second; without it nobody speaks for the group
COORDINATOR_LOST, REJECTED = 75, 2


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """What a process of the group gets when it is started."""

    coordinator: str
    token: str
    rank: int
    group: Path
    command: tuple[str, ...]  # the trainer's, without its folder

    @property
    def folder(self) -> RunFolder:
        return RunFolder(group_membership.agent_folder(self.group, self.rank))


def config_from_environment(environment: Any = os.environ) -> AgentConfig:
    return AgentConfig(
        environment[COORDINATOR_VARIABLE], environment.get(TOKEN_VARIABLE, ""), int(environment[RANK_VARIABLE]),
        Path(environment[GROUP_DIR_VARIABLE]), tuple(shlex.split(environment[COMMAND_VARIABLE])),
    )  # fmt: skip


def main() -> int:
    stop_signals.unblock()
    duty = config_from_environment()
    with contextlib.suppress(OSError, ValueError):
        if os.environ.get(CORES_VARIABLE):
            os.sched_setaffinity(0, {int(core) for core in os.environ[CORES_VARIABLE].split(",")})
    if os.environ.get(PARENT_VARIABLE):
        group_membership.die_with_parent()
        if os.getppid() != int(os.environ[PARENT_VARIABLE]):  # it had gone before
            return COORDINATOR_LOST
    line = connect(duty.coordinator)
    if line is None:
        print_line(f"holdfast: nobody answers at {duty.coordinator}")
        return COORDINATOR_LOST
    host = os.environ.get(HOST_VARIABLE) or socket.gethostname()
    line.send(messages.Hello(duty.rank, duty.token, host, os.getpid()))
    return Agent(duty, line).serve()


def connect(address: str) -> MessageConnection | None:
    until = time.monotonic() + CONNECT_TIMEOUT_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            return MessageConnection(socket.create_connection(split_address(address), timeout=5.0))
        time.sleep(0.5)
    return None


class Agent:
    def __init__(self, duty: AgentConfig, line: MessageConnection) -> None:
        self._duty, self._line = duty, line
        self._orders: queue.Queue[messages.Start | messages.Leave | messages.JoinRefused | Literal["lost"]]
        self._orders = queue.Queue()
        self._attempt = 0
        self._running = self._killed = False
        self._beats = BeatReader(duty.folder.beats)

    def serve(self) -> int:
        reporter = threading.Thread(target=self._report, name="reporter", daemon=True)
        reporter.start()
        while True:
            order = self._orders.get()
            if order == "lost":
                print_line("holdfast: the coordinator of the group has gone")
                return COORDINATOR_LOST
            if isinstance(order, messages.JoinRefused):
                print_line(
                    f"holdfast: the coordinator at {self._duty.coordinator} turned this process away: {order.why}"
                )
                return REJECTED
            if isinstance(order, messages.Leave):
                return order.exit_code
            self._train(order)

    # -- one attempt, in the main thread -----------------------------------------------------------

    def _train(self, order: messages.Start) -> None:
        duty, self._attempt, self._killed = self._duty, order.attempt, False
        ours = group_membership.GroupMembership(
            duty.rank, order.count, order.coordinator, duty.group.resolve()
        )
        os.environ.update(ours.environment())
        resumed = ["--resume"] if order.resume else []
        orders = session.RunOptions(
            command=(*duty.command, str(duty.folder.path), *resumed), run_dir=duty.folder.path, watch="train",
            first_attempt=self._attempt,
        )  # fmt: skip
        self._running = True
        try:
            finished = session.SupervisedRun(orders, print_line=print_line).run()
        finally:
            self._running = False
        ending = finished.summary
        verdict = {} if self._killed or finished.exit_code == 0 else first_finding(duty.folder)
        self._line.send(
            messages.ProcessEnded(
                self._attempt, ending.exit_code, ending.signal, finished.exit_code, ending.step, verdict
            )
        )

    # -- the coordinator, in a thread ----------------------------------------------------------------

    def _report(self) -> None:
        """Whatever ends this thread, nobody hears of this process any more: the same as a coordinator that has gone."""
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, spawn.BLOCKED_SIGNALS)  # they are the main thread's
            self._talk()
        except NotAMessage as error:
            print_line(f"holdfast: what answers at {self._duty.coordinator} is no coordinator: {error}")
        except Exception:
            print_line(traceback.format_exc())
        finally:
            self._lose()

    def _talk(self) -> None:
        """Until the coordinator has closed, or is silent for too long."""
        due = heard_at = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._line.sock, selectors.EVENT_READ)
            while True:
                if selector.select(max(0.0, due - time.monotonic())):
                    is_open = self._line.fill()
                    while (message := self._line.take(FROM_COORDINATOR)) is not None:
                        self._obey(message)
                    if not is_open:
                        return
                    heard_at = time.monotonic()
                if time.monotonic() >= due:
                    due = time.monotonic() + REPORT_EVERY_S
                    if due - heard_at > SILENT_S:
                        return
                    self._line.send(self._status())

    def _obey(self, message: Message) -> None:
        if isinstance(message, messages.Ping):
            self._line.send(messages.Pong(message.at))
        elif isinstance(message, messages.Start | messages.Leave | messages.JoinRefused):
            self._orders.put(message)
        elif isinstance(message, messages.Stop):
            os.kill(os.getpid(), signal.SIGTERM if self._running else 0)
        elif isinstance(message, messages.TakeStacks):
            self._line.send(self._stacks())
        elif isinstance(message, messages.Kill) and self._running:
            self._killed = True
            self._kill()

    def _lose(self) -> None:
        """Without a coordinator nobody knows how the others are: the trainer ends here too."""
        self._line.close()
        try:
            if self._running:
                self._kill()
        finally:
            self._orders.put("lost")

    def _status(self) -> messages.Status:
        beat = self._beats.newest()
        noted = step_timing.read(self._duty.folder.path / step_timing.TIMING_FILE)
        if beat is None or not self._running or beat.attempt != self._attempt & 0xFFFF:
            return messages.Status(self._running, self._attempt)
        stat = procfs.stat(beat.pid)
        status = messages.Status(
            self._running, self._attempt, beat.pid, beat.step, beat.phase.label, beat.sequence,
            stat.state if stat else "", beat.data_wait_ns / 1e9,
        )  # fmt: skip
        if noted is None or noted.pid != beat.pid:
            return status
        return replace(
            status, pace=noted.state, steps=noted.steps, own_s=noted.own_s, together_s=noted.together_s
        )

    def _trainers(self) -> list[int]:
        """Leaders of the sessions below us: the trainer is started in a session of its own."""
        found = []
        for pid in procfs.descendants(os.getpid()):
            with contextlib.suppress(OSError):
                if os.getsid(pid) == pid:
                    found.append(pid)
        return found

    def _kill(self) -> None:
        for pid in self._trainers():
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)

    def _stacks(self) -> messages.Stacks:
        """Where the trainer is, in a few lines, and the file that holds all of it."""
        folder, beat = self._duty.folder, self._beats.newest()
        trainer = next(iter(self._trainers()), None)
        if trainer is None:
            return messages.Stacks("")
        taken = capture.StackCapture(
            folder, attempt=self._attempt, reason="group", phase=beat.phase.label if beat else "",
            step=beat.step if beat else 0, at=time.time(),
        )  # fmt: skip
        try:
            folder.stacks.mkdir(parents=True, exist_ok=True)
            taken.take_snapshot([trainer], trainer=trainer, now=time.monotonic())
            main = capture.process_stacks(trainer, trains=True, folder=folder, native=False)
        except OSError as error:
            return messages.Stacks("", (str(error),))
        frames = next((thread.frames for thread in main.threads if thread.main), []) if main else []
        main_thread = tuple(f"{one.function} ({Path(one.file).name}:{one.line})" for one in frames[:6])
        return messages.Stacks(f"stacks/{taken.file}", main_thread)


def first_finding(folder: RunFolder) -> dict[str, Any]:
    """The first finding of this process alone, for the group's verdict."""
    try:
        from holdfast.explain import explain
        from holdfast.report.verdict_json import as_json

        verdict = as_json(explain(folder.path))
        first = verdict["findings"][0] if verdict["findings"] else {}
        kept = {key: first[key] for key in ("cause", "title", "strength", "because") if key in first}
        return {"summary": verdict["summary"], **kept}
    except Exception as error:  # whatever goes wrong here, the ending must be reported
        return {"summary": f"not explained: {error}"}


if __name__ == "__main__":
    sys.exit(main())
