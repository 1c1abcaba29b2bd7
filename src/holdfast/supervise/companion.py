"""The process that `holdfast.watch` starts to monitor the one that it is called in.

``python -m holdfast.supervise.companion PID FOLDER BEGAN [STALL_AFTER]``: BEGAN is when the block began, in seconds of
`time.monotonic`, since a short block may be over before this process is there. The block's end comes on standard input.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Protocol

from holdfast.host import cgroup, kernel_log, procfs
from holdfast.host.nvml import GpuReader
from holdfast.journal.events import AttemptEnded, AttemptStarted, RunClosed, WatchLimited
from holdfast.journal.folder import RunFolder
from holdfast.stderr import print_line
from holdfast.supervise.monitor import Monitor, WatchedTree
from holdfast.supervise.recording import machine_event
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.watched_process import WatchedProcess

UNKNOWN_HERE = ("the exit status", "the signal that ended it", "who sent it signals", "what it printed")


def main(arguments: list[str]) -> int:
    pid, folder = int(arguments[0]), RunFolder(Path(arguments[1]))
    began = float(arguments[2])
    stall_after_s = float(arguments[3]) if len(arguments) > 3 else None
    recorder = Recorder(folder)
    command = procfs.command_line(pid).split()
    gpus = GpuReader()
    paths = machine_event.run_paths(folder.path, Path.cwd())
    recorder.append(machine_event.machine_read_event(cgroup.find(pid), paths, gpus.describe()))
    recorder.append(AttemptStarted(command=command, pid=pid, terminal=False))
    recorder.append(WatchLimited(unknown=list(UNKNOWN_HERE)))
    monitor = Monitor(
        WatchedTree(pid),
        folder=folder,
        recorder=recorder,
        attempt=1,
        paths=paths,
        gpus=gpus,
        output_bytes=lambda: 0,
        configured_stall_s=stall_after_s,
        print_line=print_line,
    )
    message = watch_until_block_ends(monitor, pid, recorder)
    monitor.close()
    recorder.append(_attempt_ended(monitor, message, time.monotonic() - began))
    code = 0 if message is not None and not message["raised"] else 1
    recorder.append(RunClosed(outcome=_outcome_of_block(message), exit_code=code))
    recorder.close()
    return 0


class TickingMonitor(Protocol):
    """The part of the monitor that is needed here."""

    every_s: float

    def tick(self, *, now: float, at: float) -> object: ...


def watch_until_block_ends(monitor: TickingMonitor, pid: int, recorder: Recorder) -> dict[str, Any] | None:
    """The message that the block sent at its end, or None when the process has gone without one.

    A forked worker has our pipe open too, so the end of the pipe is no sign that the process has ended.
    """
    process, stdin = WatchedProcess(pid), sys.stdin.fileno()
    due = time.monotonic()
    try:
        while True:
            ready = process.wait(due - time.monotonic(), also=(stdin,))
            if stdin in ready:
                return _message(sys.stdin.readline())
            if ready or not process.alive:
                return None
            if time.monotonic() >= due:
                try:
                    monitor.tick(now=time.monotonic(), at=time.time())
                except Exception as error:  # one tick that fails does not end the monitoring
                    recorder.report_failure("a tick of the monitor", error)
                due = time.monotonic() + monitor.every_s
    finally:
        process.close()


def _message(line: str) -> dict[str, Any] | None:
    try:
        return dict(json.loads(line))
    except ValueError:
        return None


def _attempt_ended(monitor: Monitor, message: dict[str, Any] | None, duration_s: float) -> AttemptEnded:
    """The end of the block, not of the process, unless the process is what ended."""
    state = cgroup.read(monitor.sampler.group)
    log = kernel_log.read(since=time.monotonic() - duration_s - 1)
    return AttemptEnded(
        exit_code=None if message is None else int(bool(message["raised"])),
        duration_s=round(duration_s, 3),
        max_rss_bytes=monitor.peak_bytes or None,
        oom_kills_before=monitor.oom_kills_before,
        oom_kills_after=state.oom_kills,
        pids_refused_before=monitor.pids_refused_before,
        pids_refused_after=state.pids_refused,
        kernel_log=kernel_log.lines_about(log, monitor.known_pids),
    )


def _outcome_of_block(message: dict[str, Any] | None) -> str:
    if message is None:
        return "gone"
    return "failed" if message["raised"] else "ended"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
