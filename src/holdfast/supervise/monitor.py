"""Samples a process and its descendants about once a second, and records what changed.

It does not know how the process was started: `attempt` gives it a child, `companion` a process that was there before.
The clock is an argument.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.host import cgroup, kernel_log, process_limits, procfs
from holdfast.host.nvml import GpuReader
from holdfast.host.procfs import Stat
from holdfast.host.signals import signal_name
from holdfast.journal.beats import Beat
from holdfast.journal.events import ChildStateChanged, OomKillSeen, WorkerGone
from holdfast.journal.folder import RunFolder
from holdfast.journal.reader import Follower
from holdfast.journal.vitals import Sample
from holdfast.supervise.recording.beat_follower import HeartbeatFollower
from holdfast.supervise.recording.journal_state import JournalState
from holdfast.supervise.recording.output_follower import OutputFollower, PrintedPosition
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.sampling.memory_breakdown import MemoryReport
from holdfast.supervise.sampling.vitals_sampler import Sampler
from holdfast.supervise.stall.activity import ActivitySample
from holdfast.supervise.stall.detector import StallDetector, current_cpu_contention
from holdfast.supervise.stall.stall_captures import StallCaptures
from holdfast.supervise.stall.thread_waits import sleeps

_EVERY_S = 1.0
_FIRST_EVERY_S = 0.2  # at first, so that a command that ends at once is sampled at all
_FIRST_TICKS = 5
_MAX_EVERY_S = 5.0
_OWN_SHARE = 0.005  # of a core that ticks may use; where a tick costs more, they come less often
_SOON_S = 5.0  # memory that runs out within this time is sampled as often as at first
_GPU_BUSY_PERCENT = 10
_MIN_WORKER_S = 2.0  # helpers such as `nvcc --version` come and go; they are not workers


@dataclass(frozen=True, slots=True)
class WatchedTree:
    """A process with its descendants, and what is known of it before the first tick."""

    root: int
    trainer: int | None = None  # the one that trains, where that is known without heartbeats
    idle_since: float | None = None  # for a process that ran before: nothing of it has run since then
    gentle: bool = False  # reading stacks must not pause a process that waits
    captures_every_s: float = 0.0


@dataclass(slots=True)
class Descendant:
    """A descendant process, as last seen."""

    stat: Stat
    command: str
    first_seen: float


class Monitor:
    def __init__(
        self,
        tree: WatchedTree,
        *,
        folder: RunFolder,
        recorder: Recorder,
        attempt: int,
        paths: Mapping[str, Path],
        gpus: GpuReader,
        output_bytes: Callable[[], int],
        configured_stall_s: float | None,
        print_line: Callable[[str], None],
        line_open: Callable[[], bool] = lambda: False,
        output: OutputFollower | None = None,
    ) -> None:
        self.journal = JournalState()
        self.peak_bytes = 0
        self.sampler = Sampler(tree.root, attempt=attempt, paths=paths, gpus=gpus, trainer=tree.trainer)
        self.beats = HeartbeatFollower(folder.beats, attempt=attempt)
        self.output = output or OutputFollower(folder.output)
        self._follower = Follower(folder.journal)
        self._attempt = attempt
        self._recorder = recorder
        self._output_bytes = output_bytes
        self._workers: dict[int, Descendant] = {}
        self._state = ""
        self._oom_kills = cgroup.read(self.sampler.group).oom_kills
        self.oom_kills_before = self._oom_kills
        self.pids_refused_before = cgroup.read(self.sampler.group).pids_refused
        self.every_s = _FIRST_EVERY_S
        self._group = self.sampler.group
        self._ticks = 0
        self._before: Sample | None = None
        self.captures = StallCaptures(folder, recorder, gentle=tree.gentle, every_s=tree.captures_every_s)
        self.stalls = StallDetector(
            recorder,
            self.journal,
            self.captures,
            now=time.monotonic() if tree.idle_since is None else tree.idle_since,
            configured_s=configured_stall_s,
            print_line=print_line,
            gentle=tree.gentle,
        )
        self.known_pids: set[int] = {tree.root}
        self._print_line = print_line
        self._memory_report = MemoryReport()
        self._line_open = line_open
        self._waiting_text: list[str] = []  # for the screen, once no progress bar would be cut by it

    def tick(self, *, now: float, at: float) -> Sample | None:
        """One sample; None when the process has gone."""
        started = time.process_time()
        self._read_journal()
        beat = self.beats.poll()
        printed = self._read_output(now) if self._speaks_for_itself(beat) else None
        sample = self.sampler.sample(
            now=now,
            at=at,
            beat=beat,
            output_bytes=self._output_bytes(),
            step_s=self.beats.step_s,
            in_detail=self.stalls.suspicious,
            printed=printed,
        )
        self._ticks += 1
        affordable_s = (time.process_time() - started) / _OWN_SHARE
        if self._ticks <= _FIRST_TICKS:
            self.every_s = max(_FIRST_EVERY_S, min(_MAX_EVERY_S, affordable_s))
        elif sample is not None and memory_ends_soon(self._before, sample):
            self.every_s = _FIRST_EVERY_S
        else:
            self.every_s = max(_EVERY_S, min(_MAX_EVERY_S, affordable_s))
        self._before = sample
        if sample is not None:
            self._record_changes(sample, now)
            self._recorder.sample(sample)
            self._detect_stall(sample, beat)
        return sample

    @property
    def trainer(self) -> int:
        """The process that writes beats, or the command's own."""
        return self.sampler.trainer(self.beats.newest)

    @property
    def descendants(self) -> dict[int, Stat]:
        """The command's descendants as last seen, also after the command itself has ended."""
        return {pid: worker.stat for pid, worker in self._workers.items()}

    def _detect_stall(self, sample: Sample, beat: Beat | None) -> None:
        totals = self.sampler.totals
        alive = beat is not None and beat.pid in self.sampler.seen
        gpu_busy = any(gpu_works_for_us(gpu) for gpu in sample.gpus)
        activity = ActivitySample(
            now=sample.mono,
            beat=beat if alive else None,
            state=sample.state,
            threads_run=sample.state != "R"
            and current_cpu_contention() > 1.0
            and procfs.has_runnable_thread(self.trainer),
            cpu_s=totals.cpu_s,
            read_bytes=totals.read_bytes,
            written_bytes=totals.written_bytes,
            rss_bytes=sample.tree_rss_bytes,
            output_bytes=sample.output_bytes,
            gpu_busy=gpu_busy,
            sleeps=gpu_busy and sleeps(self.trainer),
        )
        self.stalls.printed = self.output.position
        self.stalls.update(activity, self.beats.new_beats if alive else [], self.sampler.pids, self.trainer)

    def capture_before_kill(self, *, now: float) -> None:
        self.captures.capture_before_kill(self.beats.newest, self.trainer, now=now)

    def _print_waiting(self, *, at_end: bool = False) -> None:
        while self._waiting_text and (at_end or not self._line_open()):
            self._print_line(self._waiting_text.pop(0))

    def close(self) -> None:
        self._read_journal()
        self._print_waiting(at_end=True)
        beat = self.beats.poll()
        if self._speaks_for_itself(beat):
            self.output.finish(time.monotonic())
            for event in self.output.events:
                self._recorder.append(event)
        self.beats.close()
        self.sampler.close()

    def _read_journal(self) -> None:
        try:
            entries = self._follower.poll()
        except OSError as error:
            self._recorder.report_failure("journal (reading)", error)
            return
        entries = [entry for entry in entries if entry.attempt == self._attempt]
        self.journal.update(entries)
        for entry in entries:
            if block := self._memory_report.update(entry.event, free_bytes=self._free_bytes):
                self._waiting_text.append(block)
        self._print_waiting()
        for number, folder in enumerate(sorted(self.journal.save_folders)[:4]):
            self.sampler.add_path("checkpoint" if number == 0 else f"checkpoint-{number + 1}", folder)

    def _speaks_for_itself(self, beat: Beat | None) -> bool:
        """Nothing inside has reported any training: the output alone says how far the command has come."""
        reported = self.journal.fit is not None or self.journal.has_custom_loop
        return not reported and (beat is None or not beat.step)

    def _read_output(self, now: float) -> PrintedPosition | None:
        position = self.output.poll(now)
        for event in self.output.events:
            self._recorder.append(event)
        return position

    def _free_bytes(self) -> int:
        """What the command may still allocate."""
        return process_limits.free_memory_bytes(group=self._group)

    def _record_changes(self, sample: Sample, now: float) -> None:
        self.peak_bytes = max(self.peak_bytes, sample.tree_rss_bytes)
        if sample.state != self._state:
            if "T" in (sample.state, self._state):
                self._recorder.append(ChildStateChanged(state=sample.state, was=self._state))
            self._state = sample.state
        rose = self._record_kills(sample)
        self._record_workers(now, rose)

    def _record_kills(self, sample: Sample) -> bool:
        if self.sampler.group != self._group:  # it was moved to another group, with counters of its own
            self._group = self.sampler.group
            state = cgroup.read(self._group)
            self._oom_kills = self.oom_kills_before = state.oom_kills
            self.pids_refused_before = state.pids_refused
            return False
        was, self._oom_kills = self._oom_kills, sample.oom_kills
        if was is None or sample.oom_kills is None or sample.oom_kills <= was:
            return False
        lines = kernel_log.lines_about(kernel_log.read(since=sample.mono - 60), self.known_pids)
        lines = [line for line in lines if "oom" in line.lower() or "memory" in line.lower()]
        self._recorder.append(
            OomKillSeen(
                oom_kills=sample.oom_kills,
                was=was,
                kernel_log=lines[-8:],
                victim_pid=kernel_log.killed_pid(lines),
            )
        )
        return True

    def _record_workers(self, now: float, oom_kills_rose: bool) -> None:
        seen = self.sampler.seen
        self.known_pids.update(seen)
        for pid, worker in list(self._workers.items()):
            stat = seen.get(pid)
            if stat is not None and stat.started_ticks == worker.stat.started_ticks and stat.state != "Z":
                worker.stat = stat
                continue
            young = now - worker.first_seen < _MIN_WORKER_S
            if young and not oom_kills_rose and stat is not None and stat.state == "Z":
                continue  # a helper is taken note of by its parent in a moment; a worker that died may never be
            del self._workers[pid]
            if now - worker.first_seen >= _MIN_WORKER_S or oom_kills_rose:
                self._recorder.append(_worker_gone_event(worker, stat, now, oom_kills_rose))
        for pid, stat in seen.items():
            if pid not in self._workers and pid != self.sampler.root and stat.state != "Z":
                self._workers[pid] = Descendant(stat, procfs.command_line(pid), now)


def memory_ends_soon(before: Sample | None, sample: Sample) -> bool:
    """Memory grows so fast that its group's limit, or the machine's, is reached within seconds."""
    if before is None:
        return False
    left = _headroom(sample.memory_available_bytes, sample.memory_limit_bytes, sample.memory_used_bytes)
    grown, passed_s = sample.tree_rss_bytes - before.tree_rss_bytes, sample.mono - before.mono
    return left is not None and grown > 0 and left * passed_s < _SOON_S * grown


def _headroom(available: int | None, limit: int | None, used: int | None) -> int | None:
    headrooms = [available, limit - used if limit is not None and used is not None else None]
    return min((left for left in headrooms if left is not None), default=None)


def gpu_works_for_us(gpu: dict[str, Any]) -> bool:
    """In a container the driver may list no process at all; then the work counts as ours. On a GPU that others use too,
    the share of our own processes counts, where the driver has it."""
    share = gpu.get("ours_utilisation")
    if share is not None:
        return int(share) >= _GPU_BUSY_PERCENT
    return gpu.get("utilisation", 0) >= _GPU_BUSY_PERCENT and (
        gpu.get("ours_bytes", 0) > 0 or not gpu.get("others")
    )


def _worker_gone_event(
    worker: Descendant, latest: Stat | None, now: float, oom_kills_rose: bool
) -> WorkerGone:
    zombie = latest is not None and latest.started_ticks == worker.stat.started_ticks
    return WorkerGone(
        worker_pid=worker.stat.pid,
        name=worker.stat.name,
        command=worker.command[:200],
        rss_bytes=worker.stat.rss_bytes,
        lived_s=round(now - worker.first_seen, 1),
        oom_kills_rose=oom_kills_rose,
        last_state=_ended_with(worker.stat.pid) if zombie else worker.stat.state,
    )


def _ended_with(pid: int) -> str:
    """ "exit code 1" or "SIGKILL"; "Z" where the kernel does not say."""
    status = procfs.exit_status(pid)
    if status is None:
        return "Z"
    return signal_name(-status) if status < 0 else f"exit code {status}"
