"""Looks at a process and its descendants, about once a second, and writes down what it sees.

It knows nothing of how the process was started: `attempt` gives it a child, `beside` a process that was
there before. The clock is an argument.
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
from holdfast.journal.beats import Beat
from holdfast.journal.events import ChildStateChanged, OomKillSeen, WorkerGone
from holdfast.journal.folder import RunFolder
from holdfast.journal.reader import Follower
from holdfast.journal.vitals import Sample
from holdfast.supervise.recording.beat_follower import HeartbeatFollower
from holdfast.supervise.recording.journal_state import JournalState
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.sampling.memory_breakdown import MemoryReport
from holdfast.supervise.sampling.vitals_sampler import Sampler
from holdfast.supervise.stall.activity import ActivitySample
from holdfast.supervise.stall.detector import StallDetector

_EVERY_S = 1.0
_FIRST_EVERY_S = 0.2  # at first, so that a command that dies young is seen at all
_FIRST_TICKS = 5
_MOST_EVERY_S = 5.0
_OWN_SHARE = 0.005  # of a core that looking may take; where a look is dearer, looks come less often
_SOON_S = 5.0  # memory that grows so that it ends within this time is looked at as often as at first
_GPU_BUSY_PERCENT = 10
_YOUNG_S = 2.0  # helpers such as `nvcc --version` come and go; they are not workers


@dataclass(slots=True)
class Descendant:
    """A descendant, as last seen."""

    stat: Stat
    command: str
    first_seen: float


class Monitor:
    def __init__(
        self,
        root: int,
        *,
        folder: RunFolder,
        recorder: Recorder,
        attempt: int,
        places: Mapping[str, Path],
        cards: GpuReader,
        output_bytes: Callable[[], int],
        by_hand_s: float | None,
        say: Callable[[str], None],
    ) -> None:
        self.told = JournalState()
        self.peak_bytes = 0
        self.sampler = Sampler(root, attempt=attempt, places=places, cards=cards)
        self.pulse = HeartbeatFollower(folder.beats, attempt=attempt)
        self._follower = Follower(folder.journal)
        self._attempt = attempt
        self._record = recorder
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
        self.alarm = StallDetector(
            folder, recorder, self.told, now=time.monotonic(), by_hand_s=by_hand_s, say=say
        )
        self.known_pids: set[int] = {root}
        self._say = say
        self._footprint = MemoryReport()

    def tick(self, *, now: float, at: float) -> Sample | None:
        """One look. None when the process has gone."""
        began = time.process_time()
        self._listen()
        beat = self.pulse.poll()
        sample = self.sampler.sample(
            now=now,
            at=at,
            beat=beat,
            output_bytes=self._output_bytes(),
            step_s=self.pulse.step_s,
            closely=self.alarm.suspicious,
        )
        self._ticks += 1
        dear_s = (time.process_time() - began) / _OWN_SHARE
        if self._ticks <= _FIRST_TICKS:
            self.every_s = max(_FIRST_EVERY_S, min(_MOST_EVERY_S, dear_s))
        elif sample is not None and memory_ends_soon(self._before, sample):
            self.every_s = _FIRST_EVERY_S
        else:
            self.every_s = max(_EVERY_S, min(_MOST_EVERY_S, dear_s))
        self._before = sample
        if sample is not None:
            self._note(sample, now)
            self._record.sample(sample)
            self._mind(sample, beat)
        return sample

    @property
    def trainer(self) -> int:
        """The process that beats, or the command's own."""
        beat = self.pulse.newest
        return beat.pid if beat is not None and beat.pid in self.sampler.seen else self.sampler.root

    @property
    def relatives(self) -> dict[int, Stat]:
        """The command's descendants as last seen; they stay known when the command itself ends."""
        return {pid: worker.stat for pid, worker in self._workers.items()}

    def _mind(self, sample: Sample, beat: Beat | None) -> None:
        sums = self.sampler.sums
        alive = beat is not None and beat.pid in self.sampler.seen
        look = ActivitySample(
            now=sample.mono,
            beat=beat if alive else None,
            state=sample.state,
            cpu_s=sums.cpu_s,
            read_bytes=sums.read_bytes,
            written_bytes=sums.written_bytes,
            rss_bytes=sample.tree_rss_bytes,
            output_bytes=sample.output_bytes,
            gpu_busy=any(_gpu_works_for_us(gpu) for gpu in sample.gpus),
        )
        self.alarm.look(look, self.pulse.fresh if alive else [], self.sampler.pids, self.trainer)

    def close(self) -> None:
        self._listen()
        self.pulse.poll()
        self.pulse.close()
        self.sampler.close()

    def _listen(self) -> None:
        try:
            entries = self._follower.poll()
        except OSError as error:
            self._record.complain("journal (reading)", error)
            return
        entries = [entry for entry in entries if entry.attempt == self._attempt]
        self.told.take(entries)
        for entry in entries:
            if block := self._footprint.take(entry.event, free_bytes=self._free_bytes):
                self._say(block)
        for number, folder in enumerate(sorted(self.told.save_folders)[:4]):
            self.sampler.add_place("checkpoint" if number == 0 else f"checkpoint-{number + 1}", folder)

    def _free_bytes(self) -> int:
        """What the command may still allocate."""
        return process_limits.free_memory_bytes(group=self._group)

    def _note(self, sample: Sample, now: float) -> None:
        self.peak_bytes = max(self.peak_bytes, sample.tree_rss_bytes)
        if sample.state != self._state:
            if "T" in (sample.state, self._state):
                self._record.append(ChildStateChanged(state=sample.state, was=self._state))
            self._state = sample.state
        rose = self._note_kills(sample)
        self._note_workers(now, rose)

    def _note_kills(self, sample: Sample) -> bool:
        if self.sampler.group != self._group:  # it has moved to another group, which counts for itself
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
        self._record.append(
            OomKillSeen(
                oom_kills=sample.oom_kills,
                was=was,
                kernel_log=lines[-8:],
                victim_pid=kernel_log.killed_pid(lines),
            )
        )
        return True

    def _note_workers(self, now: float, oom_kills_rose: bool) -> None:
        seen = self.sampler.seen
        self.known_pids.update(seen)
        for pid, worker in list(self._workers.items()):
            one = seen.get(pid)
            if one is not None and one.started_ticks == worker.stat.started_ticks and one.state != "Z":
                worker.stat = one
                continue
            del self._workers[pid]
            if now - worker.first_seen >= _YOUNG_S or oom_kills_rose:
                self._record.append(_worker_gone_event(worker, one, now, oom_kills_rose))
        for pid, one in seen.items():
            if pid not in self._workers and pid != self.sampler.root and one.state != "Z":
                self._workers[pid] = Descendant(one, procfs.command_line(pid), now)


def memory_ends_soon(before: Sample | None, sample: Sample) -> bool:
    """Memory grows so fast that its group's limit, or the machine's, is reached within seconds."""
    if before is None:
        return False
    rest = _headroom(sample.memory_available_bytes, sample.memory_limit_bytes, sample.memory_used_bytes)
    grown, passed_s = sample.tree_rss_bytes - before.tree_rss_bytes, sample.mono - before.mono
    return rest is not None and grown > 0 and rest * passed_s < _SOON_S * grown


def _headroom(available: int | None, limit: int | None, used: int | None) -> int | None:
    rests = [available, limit - used if limit is not None and used is not None else None]
    return min((rest for rest in rests if rest is not None), default=None)


def _gpu_works_for_us(gpu: dict[str, Any]) -> bool:
    """In a container the card may name no process at all; then its work is taken for ours."""
    return gpu.get("utilisation", 0) >= _GPU_BUSY_PERCENT and (
        gpu.get("ours_bytes", 0) > 0 or not gpu.get("others")
    )


def _worker_gone_event(
    worker: Descendant, now_seen: Stat | None, now: float, oom_kills_rose: bool
) -> WorkerGone:
    zombie = now_seen is not None and now_seen.started_ticks == worker.stat.started_ticks
    return WorkerGone(
        worker_pid=worker.stat.pid,
        name=worker.stat.name,
        command=worker.command[:200],
        rss_bytes=worker.stat.rss_bytes,
        lived_s=round(now - worker.first_seen, 1),
        oom_kills_rose=oom_kills_rose,
        last_state="Z" if zombie else worker.stat.state,
    )
