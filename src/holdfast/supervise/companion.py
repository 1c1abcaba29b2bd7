"""The process that `holdfast.watch` starts beside the one it is called in: ``python -m … PID FOLDER
[STALL_AFTER]``.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from pathlib import Path
from typing import Any, Protocol

from holdfast.host import cgroup, kernel_log, procfs
from holdfast.host.nvml import GpuReader
from holdfast.host.procfs import Stat
from holdfast.journal.events import AttemptEnded, AttemptStarted, RunClosed, WatchLimited
from holdfast.journal.folder import RunFolder
from holdfast.supervise.monitor import Monitor
from holdfast.supervise.recording import machine_event
from holdfast.supervise.recording.recorder import Recorder

NOT_KNOWN = ("the exit status", "the signal that ended it", "who sent it signals", "what it printed")


def main(words: list[str]) -> int:
    pid, folder = int(words[0]), RunFolder(Path(words[1]))
    stall_after_s = float(words[2]) if len(words) > 2 else None
    record = Recorder(folder)
    command = procfs.command_line(pid).split()
    cards = GpuReader()
    places = machine_event.run_paths(folder.path, Path.cwd())
    record.append(machine_event.machine_read_event(cgroup.find(pid), places, cards.describe()))
    record.append(AttemptStarted(command=command, pid=pid, terminal=False))
    record.append(WatchLimited(unknown=list(NOT_KNOWN)))
    watch = Monitor(
        pid,
        folder=folder,
        recorder=record,
        attempt=1,
        places=places,
        cards=cards,
        output_bytes=lambda: 0,
        by_hand_s=stall_after_s,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    began = time.monotonic()
    told = watch_until_block_ends(watch, pid, record)
    watch.close()
    record.append(_attempt_ended(watch, told, time.monotonic() - began))
    code = 0 if told is not None and not told["raised"] else 1
    record.append(RunClosed(outcome=_outcome_of_block(told), exit_code=code))
    record.close()
    return 0


class TickingMonitor(Protocol):
    """As much of the watch as is needed here."""

    every_s: float

    def tick(self, *, now: float, at: float) -> object: ...


def watch_until_block_ends(watch: TickingMonitor, pid: int, record: Recorder) -> dict[str, Any] | None:
    """What the block said when it was left, or None when the process has gone without a word.

    A forked worker holds our pipe open too, so that the pipe's end says nothing of the process.
    """
    poll = select.poll()
    poll.register(sys.stdin.fileno(), select.POLLIN)
    began = procfs.stat(pid)
    life = _open_pidfd(pid)
    if life is not None:
        poll.register(life, select.POLLIN)
    due = time.monotonic()
    while True:
        ready = dict(poll.poll(max(0.0, due - time.monotonic()) * 1000))
        if sys.stdin.fileno() in ready:
            return _message(sys.stdin.readline())
        if life in ready or not _is_alive(pid, began):
            return None
        if time.monotonic() >= due:
            try:
                watch.tick(now=time.monotonic(), at=time.time())
            except Exception as error:  # one look that fails is no reason to see no more
                record.complain("a look at the process", error)
            due = time.monotonic() + watch.every_s


def _open_pidfd(pid: int) -> int | None:
    """A file that can be read once the process has gone; None before Linux 5.3, where each look asks anew."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _is_alive(pid: int, began: Stat | None) -> bool:
    """The process, and no later one of its number."""
    now = procfs.stat(pid)
    return (
        now is not None
        and began is not None
        and now.started_ticks == began.started_ticks
        and now.state not in "ZX"
    )


def _message(line: str) -> dict[str, Any] | None:
    try:
        return dict(json.loads(line))
    except ValueError:
        return None


def _attempt_ended(watch: Monitor, told: dict[str, Any] | None, duration_s: float) -> AttemptEnded:
    """The end of the block, not of the process, unless the process is what ended."""
    state = cgroup.read(watch.sampler.group)
    log = kernel_log.read(since=time.monotonic() - duration_s - 1)
    return AttemptEnded(
        exit_code=None if told is None else int(bool(told["raised"])),
        duration_s=round(duration_s, 3),
        max_rss_bytes=watch.peak_bytes or None,
        oom_kills_before=watch.oom_kills_before,
        oom_kills_after=state.oom_kills,
        pids_refused_before=watch.pids_refused_before,
        pids_refused_after=state.pids_refused,
        kernel_log=kernel_log.lines_about(log, watch.known_pids),
    )


def _outcome_of_block(told: dict[str, Any] | None) -> str:
    if told is None:
        return "gone"
    return "failed" if told["raised"] else "ended"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
