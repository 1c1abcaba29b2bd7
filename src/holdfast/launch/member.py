"""The supervisor of one process of a group: `python -m holdfast.launch.member`. It watches as `holdfast train`
does, reports to the conductor twice a second, and does as the conductor says.

The conductor's address, this process's rank and the folders come in the environment, so that no secret stands in a
list of processes.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import shlex
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.journal.beats import BeatReader
from holdfast.journal.folder import RunFolder
from holdfast.launch import pace, place
from holdfast.launch.wire import Line, Message, split_address
from holdfast.supervise import capture, child, procfs, session

CONDUCTOR, TOKEN, MEMBER_RANK, MEMBER_DIR = (
    "HOLDFAST_CONDUCTOR",
    "HOLDFAST_GROUP_TOKEN",
    "HOLDFAST_MEMBER_RANK",
    "HOLDFAST_MEMBER_DIR",
)
COMMAND, CORES = "HOLDFAST_MEMBER_COMMAND", "HOLDFAST_MEMBER_CORES"
REPORT_EVERY_S = 0.5
CONNECT_S = 600.0  # the host of the conductor may come up later than this one
SILENT_S = 20.0  # the conductor asks several times a second; without it nobody speaks for the group
NO_CONDUCTOR = 75


@dataclass(frozen=True, slots=True)
class Duty:
    """What a member is told when it is started."""

    conductor: str
    token: str
    rank: int
    group: Path
    command: tuple[str, ...]  # the trainer's, without its folder

    @property
    def folder(self) -> RunFolder:
        return RunFolder(place.folder_of(self.group, self.rank))


def of_environment(environment: Any = os.environ) -> Duty:
    return Duty(
        environment[CONDUCTOR], environment.get(TOKEN, ""), int(environment[MEMBER_RANK]),
        Path(environment[MEMBER_DIR]), tuple(shlex.split(environment[COMMAND])),
    )  # fmt: skip


def main() -> int:
    duty = of_environment()
    with contextlib.suppress(OSError, ValueError):
        if os.environ.get(CORES):
            os.sched_setaffinity(0, {int(core) for core in os.environ[CORES].split(",")})
    line = connected(duty.conductor)
    if line is None:
        print(f"holdfast: nobody answers at {duty.conductor}", file=sys.stderr)
        return NO_CONDUCTOR
    line.send(
        {"hello": duty.rank, "token": duty.token, "host": socket.gethostname(), "pid": os.getpid(),
         "folder": str(duty.folder.path.resolve())}
    )  # fmt: skip
    return Member(duty, line).serve()


def connected(address: str) -> Line | None:
    until = time.monotonic() + CONNECT_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            return Line(socket.create_connection(split_address(address), timeout=5.0))
        time.sleep(0.5)
    return None


class Member:
    def __init__(self, duty: Duty, line: Line) -> None:
        self._duty, self._line = duty, line
        self._orders: queue.Queue[Message] = queue.Queue()
        self._attempt = 0
        self._running = self._killed = False
        self._beats = BeatReader(duty.folder.beats)

    def serve(self) -> int:
        reporter = threading.Thread(target=self._report, name="reporter", daemon=True)
        reporter.start()
        while True:
            order = self._orders.get()
            if "leave" in order:
                return int(order["leave"])
            if "start" in order:
                self._train(order)
            if "lost" in order:
                print("holdfast: the conductor of the group has gone", file=sys.stderr)
                return NO_CONDUCTOR

    # -- one attempt, in the main thread -----------------------------------------------------------

    def _train(self, order: Message) -> None:
        duty, self._attempt, self._killed = self._duty, int(order["start"]), False
        ours = place.Place(duty.rank, int(order["count"]), str(order["coordinator"]), duty.group.resolve())
        os.environ.update(ours.environment())
        resumed = ["--resume"] if order.get("resume") else []
        orders = session.Orders(
            command=(*duty.command, str(duty.folder.path), *resumed), run_dir=duty.folder.path, watch="train",
            first_attempt=self._attempt,
        )  # fmt: skip
        self._running = True
        try:
            finished = session.Session(orders, say=self._say).run()
        finally:
            self._running = False
        ending = finished.ending
        self._line.send(
            {
                "ended": self._attempt, "exit_code": ending.exit_code, "signal": ending.signal,
                "shell_code": finished.exit_code, "step": ending.step,
                "verdict": {} if self._killed or finished.exit_code == 0 else verdict_of(duty.folder),
            }
        )  # fmt: skip

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)

    # -- the conductor, in a thread ----------------------------------------------------------------

    def _report(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, child.HELD)  # they are the main thread's
        due = heard_at = time.monotonic()
        while True:
            readable, _, _ = select.select([self._line.sock], [], [], max(0.0, due - time.monotonic()))
            if readable:
                messages = self._line.receive()
                if messages is None:
                    self._lose()
                    return
                heard_at = time.monotonic()
                for message in messages:
                    self._obey(message)
            if time.monotonic() >= due:
                due = time.monotonic() + REPORT_EVERY_S
                if due - heard_at > SILENT_S:
                    self._lose()
                    return
                self._line.send({"status": self._status()})

    def _obey(self, message: Message) -> None:
        if "ping" in message:
            self._line.send({"pong": message["ping"]})
        elif "start" in message or "leave" in message:
            self._orders.put(message)
        elif "stop" in message:
            os.kill(os.getpid(), signal.SIGTERM if self._running else 0)
        elif "stacks" in message:
            self._line.send({"stacks": self._stacks()})
        elif "kill" in message and self._running:
            self._killed = True
            self._kill()

    def _lose(self) -> None:
        """Without a conductor nobody knows how the others are: the trainer ends here too."""
        if self._running:
            self._kill()
        self._orders.put({"lost": True})

    def _status(self) -> Message:
        beat = self._beats.newest()
        noted = pace.read(self._duty.folder.path / pace.FILE)
        if beat is None or not self._running or beat.attempt != self._attempt & 0xFFFF:
            return {"running": self._running, "attempt": self._attempt}
        stat = procfs.stat(beat.pid)
        status: Message = {
            "running": self._running, "attempt": self._attempt, "pid": beat.pid, "step": beat.step,
            "phase": beat.phase.word, "sequence": beat.sequence, "state": stat.state if stat else "",
            "data_s": beat.data_wait_ns / 1e9,
        }  # fmt: skip
        if noted is not None and noted.pid == beat.pid:
            status |= {"pace": noted.state, "steps": noted.steps, "own_s": noted.own_s,
                       "together_s": noted.together_s}  # fmt: skip
        return status

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

    def _stacks(self) -> Message:
        """Where the trainer stands, in a few lines, and the file that holds all of it."""
        folder, beat = self._duty.folder, self._beats.newest()
        trainer = next(iter(self._trainers()), None)
        if trainer is None:
            return {"file": "", "main": []}
        taken = capture.Capturing(
            folder, attempt=self._attempt, reason="group", phase=beat.phase.word if beat else "",
            step=beat.step if beat else 0, at=time.time(),
        )  # fmt: skip
        try:
            folder.stacks.mkdir(parents=True, exist_ok=True)
            taken.look([trainer], trainer=trainer, now=time.monotonic())
            main = capture.process_stacks(trainer, trains=True, folder=folder, native=False)
        except OSError as error:
            return {"file": "", "main": [str(error)]}
        frames = next((thread.frames for thread in main.threads if thread.main), []) if main else []
        return {
            "file": f"stacks/{taken.file}",
            "main": [f"{frame.function} ({Path(frame.file).name}:{frame.line})" for frame in frames[:6]],
        }


def verdict_of(folder: RunFolder) -> Message:
    """The first finding of this process alone, for the group's verdict."""
    try:
        from holdfast.explain import explain

        verdict = explain(folder.path).as_json()
        first = verdict["findings"][0] if verdict["findings"] else {}
        kept = {key: first[key] for key in ("cause", "title", "strength", "because") if key in first}
        return {"summary": verdict["summary"], **kept}
    except Exception as error:  # whatever goes wrong here, the ending must be told
        return {"summary": f"not explained: {error}"}


if __name__ == "__main__":
    sys.exit(main())
