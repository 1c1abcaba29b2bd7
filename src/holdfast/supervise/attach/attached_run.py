"""A process that ran already, watched from outside: a first look of some seconds, then until it ends or we leave.

Nothing is sent to the process. A process that waits is not even paused; one that runs is paused by py-spy for some
milliseconds a snapshot. Native frames, which take seconds, are not read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.host import cgroup, kernel_log, procfs
from holdfast.host.nvml import GpuReader
from holdfast.journal.events import (
    AttemptEnded,
    AttemptStarted,
    ProcessObserved,
    RunClosed,
    WatchLimited,
)
from holdfast.journal.folder import RunFolder
from holdfast.journal.vitals import Sample
from holdfast.supervise import script_snapshot
from holdfast.supervise.attach import idle
from holdfast.supervise.attach.observation import Totals, observe
from holdfast.supervise.attach.output_copy import OutputCopy
from holdfast.supervise.attach.target import Target
from holdfast.supervise.monitor import Monitor, WatchedTree
from holdfast.supervise.recording import machine_event
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.session import RunOptions, open_folder, run_opened_event
from holdfast.supervise.stack_capture.capture import StackCapture
from holdfast.supervise.watched_process import ExitStatus, WatchedProcess

_FIRST_LOOK_S = 5.0
_TICK_S = 0.7  # in the first look
_SNAPSHOTS_EVERY_S = 2.0
#: Where something looks wrong; an answer is promised within ten seconds. Longer where nobody knows since when nothing
#: has run.
_LONGEST_LOOK_S, _LONGEST_LOOK_UNKNOWN_S = 6.5, 8.8
_SLOW_LOOK_S = 30.0  # on a machine so slow that stacks were not read twice by then
_STALLED_LOOK_S = 4.0  # where a stall is known already
_GPU_TIMEOUT_S = 1.5
UNKNOWN_HERE = (
    "what it did before",
    "its steps and epochs: there is no probe in it",
    "who sent it signals",
)


class AttachedRun:
    def __init__(
        self,
        target: Target,
        run_dir: Path,
        *,
        stall_after_s: float | None,
        print_line: Callable[[str], None],
    ) -> None:
        self.target = target
        self.recorded = True  # that the process ended
        self.folder: RunFolder = open_folder(run_dir)
        self._print_line: Callable[[str], None] = _nothing  # the first look has an answer of its own
        self._notices = print_line
        self._recorder = Recorder(self.folder, print_line=print_line)
        self._process = WatchedProcess(target.pid)
        self._output = OutputCopy(target.trainer, self.folder.output)
        self._gpus = GpuReader()
        self._started_at = time.monotonic()
        self._samples: list[Sample] = []
        paths = machine_event.run_paths(self.folder.path, Path(target.cwd or "."))
        self._open(stall_after_s, paths)
        tree = [target.pid, *procfs.descendants(target.pid, without=os.getpid())]
        self._idle_by_thread = idle.by_thread(tree)  # before anything wakes them
        self._idle_s = idle.idle_for(tree, target.trainer, self._idle_by_thread)
        self.monitor = Monitor(
            WatchedTree(
                target.pid,
                trainer=target.trainer,
                idle_since=None if self._idle_s is None else time.monotonic() - self._idle_s,
                gentle=True,
                captures_every_s=_SNAPSHOTS_EVERY_S,
            ),
            folder=self.folder,
            recorder=self._recorder,
            attempt=1,
            paths=paths,
            gpus=self._gpus,
            output_bytes=self._output.update,
            configured_stall_s=stall_after_s,
            print_line=lambda line: self._print_line(line),
        )

    @property
    def stalled(self) -> bool:
        return self.monitor.stalls.stall is not None

    @property
    def watched_s(self) -> float:
        return time.monotonic() - self._started_at

    def first_look(self) -> ProcessObserved | None:
        """Some seconds of watching; None when the process ended meanwhile."""
        gpus = self.monitor.sampler.read_gpus(timeout_s=_GPU_TIMEOUT_S)
        capture = self.monitor.captures.begin_now("attach")
        first = None
        while not self._looked_enough(capture):
            if not self._tick(pause_s=_TICK_S):
                return None
            first = first or self._totals()
        observed = observe(
            self.target,
            capture.snapshots,
            self._samples,
            (first or self._totals(), self._totals()),
            idle_s=self._idle_s,
            idle_by_thread=self._idle_by_thread,
            gpus=_named(gpus, self._gpus),
        )
        self._recorder.append(observed)
        if not self.stalled:
            self.monitor.captures.end()
        return observed

    def follow(self) -> ExitStatus | None:
        """Until the process ends: how it ended, or None where that is not known."""
        self._print_line = self._notices
        while self._tick(pause_s=self.monitor.every_s):
            pass
        return self._ended()

    def leave(self) -> None:
        """The process keeps running, and nobody watches it any more."""
        self._recorder.append(RunClosed(outcome="left", exit_code=0))
        self._close()

    # -- inside -------------------------------------------------------------------------------

    def _open(self, stall_after_s: float | None, paths: dict[str, Path]) -> None:
        target, recorder = self.target, self._recorder
        options = RunOptions(
            command=target.command, run_dir=self.folder.path, stall_after_s=stall_after_s, watch="attached"
        )
        recorder.append(run_opened_event(options, self.folder, cwd=target.cwd))
        group = cgroup.find(target.pid)
        recorder.append(machine_event.machine_read_event(group, paths, self._gpus.describe()))
        script = script_snapshot.snapshot_script(target.command, self.folder, cwd=Path(target.cwd or "."))
        if script is not None:
            recorder.append(script)
        recorder.append(AttemptStarted(command=list(target.command), pid=target.pid))
        recorder.append(WatchLimited(unknown=list(UNKNOWN_HERE)))

    def _tick(self, *, pause_s: float) -> bool:
        """One sample, then a pause; False when the process has ended."""
        try:
            sample = self.monitor.tick(now=time.monotonic(), at=time.time())
            if sample is not None:
                self._samples = [*self._samples[-20:], sample]
        except Exception as error:  # one tick that fails does not end the monitoring
            self._recorder.report_failure("a tick of the monitor", error)
        gone = self._process.wait(pause_s) or not self._process.alive
        return not gone

    def _looked_enough(self, capture: StackCapture) -> bool:
        for_s = self.watched_s
        if for_s >= (_LONGEST_LOOK_UNKNOWN_S if self._idle_s is None else _LONGEST_LOOK_S):
            return capture.done or len(capture.snapshots) >= 2 or for_s >= _SLOW_LOOK_S
        if self.stalled:
            return for_s >= _STALLED_LOOK_S and len(capture.snapshots) >= 2
        return (
            for_s >= _FIRST_LOOK_S and self.monitor.captures.complete and not self.monitor.stalls.suspicious
        )

    def _totals(self) -> Totals:
        totals = self.monitor.sampler.totals
        rss_bytes = self._samples[-1].tree_rss_bytes if self._samples else 0
        return Totals(time.monotonic(), totals.cpu_s, totals.read_bytes, totals.written_bytes, rss_bytes)

    def _ended(self) -> ExitStatus | None:
        status = self._process.exit_status()
        known = status or ExitStatus()
        state = cgroup.read(self.monitor.sampler.group)
        log = kernel_log.read(since=self._started_at - 1)
        self._output.update()
        self._recorder.append(
            AttemptEnded(
                exit_code=known.exit_code,
                signal=known.signal,
                core_dumped=known.core_dumped,
                duration_s=round(self.target.uptime_s + time.monotonic() - self._started_at, 3),
                max_rss_bytes=self.monitor.peak_bytes or None,
                oom_kills_before=self.monitor.oom_kills_before,
                oom_kills_after=state.oom_kills,
                pids_refused_before=self.monitor.pids_refused_before,
                pids_refused_after=state.pids_refused,
                kernel_log=kernel_log.lines_about(log, self.monitor.known_pids),
            )
        )
        closed = RunClosed(outcome="ended" if status else "gone", exit_code=known.exit_code or 0)
        self.recorded = self._recorder.append(closed)
        self._close()
        return status

    def _close(self) -> None:
        self.monitor.close()
        self._output.close()
        self._process.close()
        self._recorder.close()


def _nothing(line: str) -> None:
    pass


def _named(gpus: list[dict[str, object]], reader: GpuReader) -> list[dict[str, object]]:
    names = [gpu.get("name", "") for gpu in reader.describe()] if gpus else []
    return [{**gpu, "name": name} for gpu, name in zip(gpus, names, strict=False)]
