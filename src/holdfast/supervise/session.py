"""A watched run from its first line to its last: the folder, the attempts, the end."""

from __future__ import annotations

import os
import platform
import shlex
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import holdfast
from holdfast.errors import CommandNotFound, PermissionRefused
from holdfast.host import cgroup, machine_limits
from holdfast.host.nvml import GpuReader
from holdfast.journal.events import (
    AttemptStarted,
    Restarted,
    RestartRefused,
    RunClosed,
    RunOpened,
    SupervisorLost,
    WatchMode,
)
from holdfast.journal.folder import ATTEMPT_VARIABLE, RUN_DIR_VARIABLE, RunFolder
from holdfast.journal.writer import JournalWriter
from holdfast.supervise import restart_policy, script_snapshot
from holdfast.supervise.attempt import AttemptResult, AttemptRunner
from holdfast.supervise.child import spawn
from holdfast.supervise.end_summary import EndSummary
from holdfast.supervise.monitor import Monitor
from holdfast.supervise.recording import machine_event
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.restart_policy import AttemptFailure, GiveUp
from holdfast.supervise.signal_policy import STOPPED_BY

INJECT = Path(holdfast.__file__).parent / "probe" / "inject"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for."""

    command: tuple[str, ...]
    run_dir: Path
    stall_after_s: float | None = None
    on_stall: str = "report"
    restarts: int = 0
    watch: WatchMode = "run"
    first_attempt: int = 1  # higher when a run goes on in the folder of earlier attempts
    final_codes: frozenset[int] = frozenset()  # exit codes after which another attempt is no use


@dataclass(frozen=True, slots=True)
class RunResult:
    exit_code: int
    ending: EndSummary


def child_environment(environment: Mapping[str, str], run_dir: Path, attempt: int) -> dict[str, str]:
    """The user's own, with the probe's folder first on the path and two names for it to find us by.

    PYTHONUNBUFFERED is left alone: it would change how the script writes, and what is printed late
    is still printed; what a killed process had not yet printed is lost with and without us.
    """
    path = environment.get("PYTHONPATH", "")
    return {
        **environment,
        "PYTHONPATH": str(INJECT) + (os.pathsep + path if path else ""),
        RUN_DIR_VARIABLE: str(run_dir.resolve()),
        ATTEMPT_VARIABLE: str(attempt),
    }


def open_folder(path: Path) -> RunFolder:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except PermissionError as error:
        raise PermissionRefused(
            f"the run's folder {path} may not be made",
            where=str(error.filename or path),
            change="--run-dir with a folder that may be written",
        ) from error
    return RunFolder(path)


def run_opened_event(orders: RunOptions, folder: RunFolder) -> RunOpened:
    return RunOpened(
        holdfast=holdfast.__version__,
        name=folder.name,
        command=list(orders.command),
        cwd=os.getcwd(),
        watch=orders.watch,
        host=socket.gethostname(),
        boot_id=machine_limits.boot_id(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpus=machine_limits.usable_cpus(),
        memory_bytes=machine_limits.memory_bytes(),
        stall_after_s=orders.stall_after_s,
        on_stall=orders.on_stall,
        restarts=orders.restarts,
    )


class SupervisedRun:
    def __init__(self, orders: RunOptions, *, say: Callable[[str], None]) -> None:
        self.orders = orders
        self.folder = open_folder(orders.run_dir)
        self._say = say
        self._record = Recorder(self.folder, say=say)
        self._cards = GpuReader()
        self._places = machine_event.run_paths(self.folder.path, Path.cwd())
        self._began = time.monotonic()

    def run(self) -> RunResult:
        """Runs the command until it ends. Raises CommandNotFound when it cannot be started."""
        signal.signal(
            signal.SIGCHLD, signal.SIG_DFL
        )  # a parent that ignored it would take the exit status from us
        held = signal.pthread_sigmask(signal.SIG_BLOCK, spawn.BLOCKED_SIGNALS - _ignored_signals())
        try:
            self._record.append(run_opened_event(self.orders, self.folder))
            try:
                outcome, watch, attempts = self._attempts()
            except CommandNotFound as error:
                self._record.append(RunClosed(outcome="not-started", exit_code=int(error.exit_code)))
                raise
            ending = self._ending(outcome, watch, attempts=attempts)
            self._record.append(RunClosed(outcome=_outcome_word(outcome), exit_code=outcome.shell_code))
            return RunResult(outcome.shell_code, ending)
        finally:
            self._record.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, held)

    def _attempts(self) -> tuple[AttemptResult, Monitor, int]:
        failures: list[AttemptFailure] = []
        while True:
            outcome, attempt = self._attempt(self.orders.first_attempt + len(failures))
            watch = attempt.watch
            failures.append(_failure(outcome, watch, counts_on=self.orders.watch == "train"))
            if outcome.ended.exit_code in self.orders.final_codes:
                return outcome, watch, len(failures)
            decision = restart_policy.decide(failures, allowed=self.orders.restarts)
            if isinstance(decision, GiveUp):
                if decision.why:
                    self._record.append(RestartRefused(why=decision.why))
                    self._say(f"holdfast: not started again: {decision.why}")
                return outcome, watch, len(failures)
            wanted = attempt.end_left()
            self._record.append(Restarted(why=decision.why, pause_s=decision.pause_s))
            self._say(f"holdfast: started again in {decision.pause_s:g} s: {decision.why}")
            if not wanted or self._interrupted_within(decision.pause_s):
                self._record.append(RestartRefused(why="interrupted before the next attempt"))
                return outcome, watch, len(failures)

    def _interrupted_within(self, pause_s: float) -> bool:
        until = time.monotonic() + pause_s
        while (left_s := until - time.monotonic()) > 0:
            told = signal.sigtimedwait(spawn.BLOCKED_SIGNALS, left_s)
            if told is not None and told.si_signo in STOPPED_BY:
                return True
        return False

    def _attempt(self, number: int) -> tuple[AttemptResult, AttemptRunner]:
        self._record.attempt = number
        self._record.append(
            machine_event.machine_read_event(cgroup.find("self"), self._places, self._cards.describe())
        )
        script = script_snapshot.snapshot_script(self.orders.command, self.folder, cwd=Path.cwd())
        if script is not None:
            self._record.append(script)
        started = spawn.start(
            self.orders.command,
            log=self.folder.output,
            environment=child_environment(os.environ, self.folder.path, number),
            when_ended_orphaned=lambda count: _note_orphan(self.folder, number, count),
            hush=self.orders.watch == "train",
        )
        self._record.append(
            AttemptStarted(command=list(self.orders.command), pid=started.pid, terminal=started.has_terminal)
        )
        watch = Monitor(
            started.pid,
            folder=self.folder,
            recorder=self._record,
            attempt=number,
            places=self._places,
            cards=self._cards,
            output_bytes=lambda: started.board.read().output_bytes,
            by_hand_s=self.orders.stall_after_s,
            say=self._say,
        )
        attempt = AttemptRunner(started, watch, self._record, on_stall=self.orders.on_stall, say=self._say)
        return attempt.run(), attempt

    def _ending(self, outcome: AttemptResult, watch: Monitor, *, attempts: int) -> EndSummary:
        beat = watch.pulse.newest
        told = watch.told
        ended = outcome.ended
        trained = beat is not None and (beat.step > 0 or told.fit is not None or told.looped)
        return EndSummary(
            command=shlex.join(self.orders.command),
            folder=str(self.orders.run_dir),
            exit_code=ended.exit_code,
            signal=ended.signal,
            stopped_by_us=ended.stopped_by_us,
            duration_s=time.monotonic() - self._began,
            step=beat.step if trained and beat is not None else None,
            planned=told.planned_steps,
            epoch=beat.epoch if trained and beat is not None else None,
            epochs=told.fit.epochs if told.fit is not None else None,
            peak_bytes=max(watch.peak_bytes, ended.max_rss_bytes or 0),
            attempts=attempts,
            stalled=outcome.stall,
            left_running=len(ended.left_running),
        )


def _failure(outcome: AttemptResult, watch: Monitor, *, counts_on: bool) -> AttemptFailure:
    """`counts_on`: our own trainer's beats count the steps of all attempts; those of a script, of this one."""
    beat, told, ended = watch.pulse.newest, watch.told, outcome.ended
    return AttemptFailure(
        exit_code=ended.exit_code,
        signal=ended.signal,
        stopped_by_us=ended.stopped_by_us,
        exception=told.exception,
        stalled_in=beat.phase.word if beat is not None else "",
        reached=None if beat is None else beat.step + (0 if counts_on else told.start_iterations),
        saves=told.saves_done,
        manner=told.manner,
    )


def _ignored_signals() -> set[signal.Signals]:
    """What was ignored when we were started stays so, for us and for the child: SIGHUP under nohup, SIGINT of a job
    that a shell script starts with `&`. A signal that is held back is not ignored."""
    return {number for number in spawn.BLOCKED_SIGNALS if signal.getsignal(number) == signal.SIG_IGN}


def _outcome_word(outcome: AttemptResult) -> str:
    ended = outcome.ended
    if ended.stopped_by_us == "stall":
        return "stalled"
    if ended.signal is not None:
        return "killed"
    return "ended" if ended.exit_code == 0 else "failed"


def _note_orphan(folder: RunFolder, attempt: int, output_bytes: int) -> None:
    """Written by the relay: the command closed its output after the supervisor had gone."""
    try:
        writer = JournalWriter(folder.journal, by="relay", attempt=attempt)
        writer.append(SupervisorLost(output_bytes=output_bytes))
        writer.close()
    except OSError as error:
        print(f"holdfast: {error}", file=sys.stderr)
