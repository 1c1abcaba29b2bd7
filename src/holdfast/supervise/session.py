"""A supervised run: the folder, the attempts, the end."""

from __future__ import annotations

import os
import platform
import signal
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import holdfast
from holdfast.atomic_write import make_private_folder
from holdfast.errors import CommandNotFound, PermissionRefused
from holdfast.host import cgroup, machine_limits
from holdfast.host.nvml import GpuReader
from holdfast.journal import group_membership
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
from holdfast.stderr import print_line
from holdfast.supervise import restart_policy, script_snapshot
from holdfast.supervise.attempt import AttemptResult, AttemptRunner
from holdfast.supervise.child import spawn
from holdfast.supervise.end_summary import EndSummary, shown_command
from holdfast.supervise.monitor import Monitor, WatchedTree
from holdfast.supervise.recording import machine_event
from holdfast.supervise.recording.output_follower import OutputFollower
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.restart_policy import AttemptFailure, GiveUp
from holdfast.supervise.scheduler.job_watch import JobWatch
from holdfast.supervise.signal_policy import STOPPED_BY

INJECT = Path(holdfast.__file__).parent / "probe" / "inject"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user configured."""

    command: tuple[str, ...]
    run_dir: Path
    stall_after_s: float | None = None
    on_stall: str = "report"
    restarts: int = 0
    watch: WatchMode = "run"
    first_attempt: int = 1  # higher when a run resumes in the folder of earlier attempts
    final_codes: frozenset[int] = frozenset()  # exit codes after which a restart is useless


@dataclass(frozen=True, slots=True)
class RunResult:
    exit_code: int
    summary: EndSummary
    recorded: bool  # the journal has the end; on a full disk it may not


def child_environment(environment: Mapping[str, str], run_dir: Path, attempt: int) -> dict[str, str]:
    """The user's own, with the probe's folder first on the path and two variables for the probe.

    PYTHONUNBUFFERED is not set: it would change how the script writes. Late output is still printed, and what a killed
    process had buffered is lost with and without us.
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
        make_private_folder(path)
    except PermissionError as error:
        raise PermissionRefused(
            f"the run folder {path} cannot be created: permission denied",
            where=str(error.filename or path),
            change="--run-dir with a writable folder",
        ) from error
    return RunFolder(path)


def run_opened_event(options: RunOptions, folder: RunFolder, *, cwd: str = "") -> RunOpened:
    """`cwd`: where the command was started, when that is not here."""
    return RunOpened(
        holdfast=holdfast.__version__,
        name=folder.name,
        command=list(options.command),
        cwd=cwd or os.getcwd(),
        watch=options.watch,
        host=socket.gethostname(),
        boot_id=machine_limits.boot_id(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpus=machine_limits.usable_cpus(),
        memory_bytes=machine_limits.memory_bytes(),
        stall_after_s=options.stall_after_s,
        on_stall=options.on_stall,
        restarts=options.restarts,
    )


class SupervisedRun:
    def __init__(self, options: RunOptions, *, print_line: Callable[[str], None]) -> None:
        self.options = options
        self.folder = open_folder(options.run_dir)
        self._print_line = print_line
        self._recorder = Recorder(self.folder, print_line=print_line)
        self._gpus = GpuReader()
        self._paths = machine_event.run_paths(self.folder.path, Path.cwd())
        self._started_at = time.monotonic()
        self._job = JobWatch(self.folder, attempt=lambda: self._recorder.attempt)
        # Of a group, the coordinator records it.
        self._in_group = group_membership.from_environment() is not None

    def run(self) -> RunResult:
        """Runs the command until it ends. Raises CommandNotFound when it cannot be started."""
        # Inherited as ignored, SIGCHLD would lose us the exit status.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, spawn.BLOCKED_SIGNALS - _ignored_signals())
        try:
            self._recorder.append(run_opened_event(self.options, self.folder))
            if not self._in_group:
                self._recorder.attempt = self.options.first_attempt
                self._job.begin()
            try:
                result, monitor, attempts = self._attempts()
            except CommandNotFound as error:
                self._recorder.append(RunClosed(outcome="not-started", exit_code=int(error.exit_code)))
                raise
            closed = RunClosed(outcome=_outcome(result), exit_code=result.shell_code)
            recorded = self._recorder.append(closed)
            summary = self._summary_or_less(result, monitor, attempts=attempts)
            return RunResult(result.shell_code, summary, recorded)
        finally:
            self._job.close()
            self._recorder.close()
            _forget_late_signals()
            signal.pthread_sigmask(signal.SIG_SETMASK, mask_before)

    def _summary_or_less(self, result: AttemptResult, monitor: Monitor, *, attempts: int) -> EndSummary:
        """Whatever fails here, the command has ended, and its exit code is ours."""
        try:
            return self._summary(result, monitor, attempts=attempts)
        except Exception as error:
            self._recorder.report_failure("the summary", error)
            ended = result.ended
            return EndSummary(
                shown_command(self.options.command, here=Path.cwd()),
                str(self.options.run_dir),
                ended.exit_code,
                ended.signal,
            )

    def _attempts(self) -> tuple[AttemptResult, Monitor, int]:
        failures: list[AttemptFailure] = []
        while True:
            result, attempt = self._attempt(self.options.first_attempt + len(failures))
            monitor = attempt.monitor
            failures.append(_failure(result, monitor, total_steps=self.options.watch == "train"))
            if result.ended.exit_code in self.options.final_codes:
                return result, monitor, len(failures)
            decision = restart_policy.decide(failures, allowed=self.options.restarts)
            if isinstance(decision, GiveUp):
                if decision.why:
                    self._recorder.append(RestartRefused(why=decision.why))
                    self._print_line(f"holdfast: not restarted: {decision.why}")
                return result, monitor, len(failures)
            may_restart = attempt.end_leftovers()
            self._recorder.append(Restarted(why=decision.why, pause_s=decision.pause_s))
            self._print_line(f"holdfast: restarting in {decision.pause_s:g} s: {decision.why}")
            if not may_restart or self._interrupted_within(decision.pause_s):
                self._recorder.append(RestartRefused(why="interrupted before the next attempt"))
                return result, monitor, len(failures)

    def _interrupted_within(self, pause_s: float) -> bool:
        until = time.monotonic() + pause_s
        while (wait_s := until - time.monotonic()) > 0:
            info = signal.sigtimedwait(spawn.BLOCKED_SIGNALS, wait_s)
            if info is not None and info.si_signo in STOPPED_BY:
                return True
        return False

    def _attempt(self, number: int) -> tuple[AttemptResult, AttemptRunner]:
        self._recorder.attempt = number
        self._recorder.append(
            machine_event.machine_read_event(cgroup.find("self"), self._paths, self._gpus.describe())
        )
        script = script_snapshot.snapshot_script(self.options.command, self.folder, cwd=Path.cwd())
        if script is not None:
            self._recorder.append(script)
        output = OutputFollower(self.folder.output)  # before the command prints
        child = spawn.start(
            self.options.command,
            log=self.folder.output,
            environment=child_environment(os.environ, self.folder.path, number),
            when_ended_orphaned=lambda count: _record_orphan(self.folder, number, count),
            filter_noise=self.options.watch == "train",
        )
        self._recorder.append(
            AttemptStarted(command=list(self.options.command), pid=child.pid, terminal=child.has_terminal)
        )
        monitor = Monitor(
            WatchedTree(child.pid),
            folder=self.folder,
            recorder=self._recorder,
            attempt=number,
            paths=self._paths,
            gpus=self._gpus,
            output_bytes=lambda: child.relay_state.read().output_bytes,
            line_open=lambda: child.relay_state.read().line_open,
            configured_stall_s=self.options.stall_after_s,
            print_line=self._print_line,
            output=output,
        )
        attempt = AttemptRunner(
            child,
            monitor,
            self._recorder,
            on_stall=self.options.on_stall,
            print_line=self._print_line,
            terminated=(lambda: None) if self._in_group else self._job.asked_to_end,
        )
        return attempt.run(), attempt

    def _summary(self, result: AttemptResult, monitor: Monitor, *, attempts: int) -> EndSummary:
        beat, journal, ended = monitor.beats.newest, monitor.journal, result.ended
        trained = beat is not None and (beat.step > 0 or journal.fit is not None or journal.has_custom_loop)
        return EndSummary(
            command=shown_command(self.options.command, here=Path.cwd()),
            folder=str(self.options.run_dir),
            exit_code=ended.exit_code,
            signal=ended.signal,
            stopped_by_us=ended.stopped_by_us,
            duration_s=time.monotonic() - self._started_at,
            step=beat.step if trained and beat is not None else None,
            planned=journal.planned_steps,
            epoch=beat.epoch if trained and beat is not None else None,
            epochs=journal.fit.epochs if journal.fit is not None else None,
            printed=monitor.output.position.words() if monitor.output.position is not None else "",
            peak_bytes=max(monitor.peak_bytes, ended.max_rss_bytes or 0),
            attempts=attempts,
            stalled=result.stall,
            left_running=len(ended.left_running),
        )


def _failure(result: AttemptResult, monitor: Monitor, *, total_steps: bool) -> AttemptFailure:
    """`total_steps`: our own trainer's beats count the steps of all attempts; a script's, those of this one."""
    beat, journal, ended = monitor.beats.newest, monitor.journal, result.ended
    return AttemptFailure(
        exit_code=ended.exit_code,
        signal=ended.signal,
        stopped_by_us=ended.stopped_by_us,
        exception=journal.exception,
        stalled_in=beat.phase.label if beat is not None else "",
        reached=None if beat is None else beat.step + (0 if total_steps else journal.start_iterations),
        saves=journal.saves_done,
        configuration=journal.configuration,
    )


def _forget_late_signals() -> None:
    """What came after the command's end was meant for the command: it must not replace its exit code."""
    while True:
        info = signal.sigtimedwait(spawn.BLOCKED_SIGNALS, 0)
        if info is None or info.si_signo not in spawn.BLOCKED_SIGNALS:
            return


def _ignored_signals() -> set[signal.Signals]:
    """A signal that was ignored when we were started stays so, for us and for the child: SIGHUP under nohup, SIGINT of
    a job that a shell script starts with `&`. A blocked signal is not ignored."""
    return {number for number in spawn.BLOCKED_SIGNALS if signal.getsignal(number) == signal.SIG_IGN}


def _outcome(result: AttemptResult) -> str:
    ended = result.ended
    if ended.stopped_by_us == "stall":
        return "stalled"
    if ended.signal is not None:
        return "killed"
    return "ended" if ended.exit_code == 0 else "failed"


def _record_orphan(folder: RunFolder, attempt: int, output_bytes: int) -> None:
    """Written by the relay: the command closed its output after the supervisor had gone."""
    try:
        writer = JournalWriter(folder.journal, by="relay", attempt=attempt)
        writer.append(SupervisorLost(output_bytes=output_bytes))
        writer.close()
    except OSError as error:
        print_line(f"holdfast: {error}")
