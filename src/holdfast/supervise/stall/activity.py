"""When each sign of activity was last seen: beats, CPU time, bytes, memory, output.

Updated once a second. The clock is in the samples.
"""

from __future__ import annotations

import itertools
import statistics
from collections import deque
from dataclasses import dataclass

from holdfast.journal.beats import Beat, Phase
from holdfast.supervise.stall.phase_limits import PhaseGroup, RunDurations, phase_group_of

_WINDOW_S = 60.0
_SHORT_S = 5.0
#: In five seconds. A deadlocked TensorFlow process used none in ten minutes, the probe a tick or two.
_ACTIVE_CPU_S = 0.03
_ACTIVE_BYTES = 32 * 1024  # read or written in five seconds; the probe's own lines are fewer
_TICK_BYTES = (
    _ACTIVE_BYTES // 10
)  # and in the last tick: what was read before the silence stays in the window
_WORK_S, _LONG_S = 0.9, 10.0
_WORK_SHARE = 0.05  # of a core
_WORK_SHARE_STARVED = 0.02  # of one that other programs take; a poll every ten milliseconds takes half of it
_WORK_READ_BYTES = 128 * 1024  # in about a second
_GROWTH_BYTES = 512 * 1024
_GROWTH_S = 30.0
_SUPERVISOR_GAP_S = 8.0  # a longer gap between ticks: we were suspended or starved ourselves
_KEPT_STEPS = 512
_OUTLIER = 20.0


@dataclass(frozen=True, slots=True)
class ActivitySample:
    """The processes at one tick; the sums are over all of them and never fall."""

    now: float
    beat: Beat | None = None
    state: str = "S"  # of the main thread
    threads_run: bool = False  # another thread runs or waits for a CPU; looked at under CPU contention only
    cpu_s: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0
    rss_bytes: int = 0
    output_bytes: int = 0
    gpu_busy: bool = False
    sleeps: bool = False  # the main thread; looked at while a GPU works only


@dataclass(frozen=True, slots=True)
class LastActivity:
    """When each thing last moved."""

    beat: float
    output: float
    read: float
    written: float
    cpu: float  # any CPU time, or GPU work
    memory: float  # grew or shrank by half a MiB since the last such time
    working: float  # real work: a twentieth of a core, reads, output
    busy: float = (
        0.0  # the same, over ten seconds: what asks every few milliseconds is caught running now and then
    )
    runnable: float = 0.0  # most looks of ten seconds found a thread that runs or waits for a CPU
    gpu_idle: float = 0.0  # no GPU was seen to work for this run, or the main thread slept meanwhile


@dataclass(frozen=True, slots=True)
class EndedStall:
    """A stall that ended by itself."""

    phase_group: PhaseGroup
    for_s: float
    busy: bool  # it worked all the time


class ActivityTracker:
    """Keeps the times of the last activity, and learns how long things take."""

    def __init__(self, now: float) -> None:
        self.last_activity = LastActivity(*(now for _ in LastActivity.__slots__))
        self._samples: deque[ActivitySample] = deque()
        self._last_beat: Beat | None = None
        self._last_sequence = 0
        self._last_rss_bytes: int | None = None
        self._stepping_s = 0.0
        self._complete_step = False
        self._steps: deque[float] = deque(maxlen=_KEPT_STEPS)
        self._longest_s: dict[PhaseGroup, float] = {}
        self._longest_compile_s = 0.0
        self._suspended_s = 0.0  # since the last beat
        self._first_step: Beat | None = None
        self._newest_step: Beat | None = None
        self._idle_pause_s: dict[PhaseGroup, float] = {}
        self._busy_pause_s: dict[PhaseGroup, float] = {}

    def learn_pause(self, pause: EndedStall | None) -> None:
        """A pause that ended by itself raises this phase's limit."""
        if pause is not None:
            longest_s = self._busy_pause_s if pause.busy else self._idle_pause_s
            longest_s[pause.phase_group] = max(longest_s.get(pause.phase_group, 0.0), pause.for_s)

    def update(self, sample: ActivitySample, new_beats: list[Beat]) -> None:
        gap_s = sample.now - self._samples[-1].now if self._samples else 0.0
        self._samples.append(sample)
        while sample.now - self._samples[0].now > _WINDOW_S:
            self._samples.popleft()
        for beat in new_beats:
            self._learn(beat)
        self._update_last(sample)
        if sample.state == "T":  # it could not move, and this is not counted once it continues
            self._suspended_s += gap_s
            self._shift_last(gap_s, sample.now)
        if gap_s > _SUPERVISOR_GAP_S:
            self._skip_gap(gap_s, sample)

    @property
    def memory_flat(self) -> bool:
        """Memory has not changed for half a minute."""
        now = self._samples[-1].now if self._samples else 0.0
        return now - self.last_activity.memory >= _GROWTH_S

    def durations(self) -> RunDurations:
        median = statistics.median(self._steps) if self._steps else 0.0
        normal = [s for s in self._steps if len(self._steps) < 30 or s <= _OUTLIER * median]
        first, newest = self._first_step, self._newest_step
        stepping_for_s = newest.mono - first.mono if first is not None and newest is not None else 0.0
        made = newest.step - first.step if first is not None and newest is not None else 0
        return RunDurations(
            stepping_for_s=stepping_for_s,
            mean_step_s=stepping_for_s / max(1, made),
            longest_s=dict(self._longest_s),
            steps=len(self._steps),
            longest_step_s=max(normal, default=0.0),
            median_step_s=median,
            longest_compile_s=self._longest_compile_s,
            idle_pause_s=dict(self._idle_pause_s),
            busy_pause_s=dict(self._busy_pause_s),
        )

    def _update_last(self, sample: ActivitySample) -> None:
        five_s_ago, one_s_ago = self._ago(_SHORT_S), self._ago(_WORK_S)
        worked = (
            sample.cpu_s - one_s_ago.cpu_s >= _WORK_SHARE * max(1.0, sample.now - one_s_ago.now)
            or sample.read_bytes - one_s_ago.read_bytes >= _WORK_READ_BYTES
            or sample.output_bytes > one_s_ago.output_bytes
            or sample.gpu_busy
            or sample.state == "R"  # under CPU contention it may be runnable and yet get next to no time,
            or sample.threads_run  # as may the threads that it waits for
        )
        last = self._samples[-2] if len(self._samples) > 1 else sample
        beat_moved = sample.beat is not None and sample.beat.sequence != self._last_sequence
        if sample.beat is not None:
            self._last_sequence = sample.beat.sequence
        now, before = sample.now, self.last_activity
        rss_before, rss_bytes = self._last_rss_bytes, sample.rss_bytes
        memory_moved = rss_before is not None and abs(rss_bytes - rss_before) >= _GROWTH_BYTES
        if memory_moved or rss_before is None:
            self._last_rss_bytes = rss_bytes
        read = sample.read_bytes - five_s_ago.read_bytes >= _ACTIVE_BYTES
        written = sample.written_bytes - five_s_ago.written_bytes >= _ACTIVE_BYTES
        cpu = sample.cpu_s - five_s_ago.cpu_s >= _ACTIVE_CPU_S and sample.cpu_s > last.cpu_s
        self.last_activity = LastActivity(
            beat=min(now, sample.beat.mono) if beat_moved and sample.beat is not None else before.beat,
            output=now if sample.output_bytes > last.output_bytes else before.output,
            read=now if read and sample.read_bytes - last.read_bytes > _TICK_BYTES else before.read,
            written=now
            if written and sample.written_bytes - last.written_bytes > _TICK_BYTES
            else before.written,
            cpu=now if sample.gpu_busy or cpu else before.cpu,
            memory=now if memory_moved else before.memory,
            working=now if worked else before.working,
            busy=now if self._is_busy(sample) else before.busy,
            runnable=now if self._is_runnable() else before.runnable,
            gpu_idle=before.gpu_idle if sample.gpu_busy and not sample.sleeps else now,
        )

    def _is_busy(self, sample: ActivitySample) -> bool:
        ago = self._ago(_LONG_S)
        for_s = max(_WORK_S, sample.now - ago.now)
        share = _WORK_SHARE_STARVED if sample.threads_run else _WORK_SHARE
        return (
            sample.cpu_s - ago.cpu_s >= share * for_s
            or sample.read_bytes - ago.read_bytes >= _WORK_READ_BYTES * for_s
            or sample.output_bytes > ago.output_bytes
            or sample.gpu_busy
        )

    def _is_runnable(self) -> bool:
        looks = list(
            itertools.takewhile(
                lambda one: self._samples[-1].now - one.now < _LONG_S, reversed(self._samples)
            )
        )
        return sum(one.state == "R" or one.threads_run for one in looks) > len(looks) / 2

    def _ago(self, seconds: float) -> ActivitySample:
        """The sample of about then, or the oldest there is."""
        now = self._samples[-1].now
        for sample in reversed(self._samples):
            if now - sample.now >= seconds:
                return sample
        return self._samples[0]

    def _learn(self, beat: Beat) -> None:
        last, self._last_beat = self._last_beat, beat
        if last is None or last.pid != beat.pid:
            self._first_step = self._newest_step = None
            return
        if beat.sequence != last.sequence + 1:  # too many to read them all, so steps are short
            self._stepping_s, self._complete_step = 0.0, False
            return
        gap_s = beat.mono - last.mono
        if gap_s >= self._suspended_s:  # else it is a shorter one, before or after the suspension
            gap_s, self._suspended_s = gap_s - self._suspended_s, 0.0
        group = phase_group_of(last)
        if last.phase is Phase.COMPILE:  # does not predict how long later first batches take
            self._longest_compile_s = max(self._longest_compile_s, gap_s)
        else:
            self._longest_s[group] = max(self._longest_s.get(group, 0.0), gap_s)
        if group in (PhaseGroup.STEP, PhaseGroup.LOOP_STEP):
            self._stepping_s += gap_s
        elif group not in (PhaseGroup.CALLBACK, PhaseGroup.LOOP):
            self._complete_step = False
        if beat.step > last.step:
            self._first_step, self._newest_step = self._first_step or beat, beat
            if self._complete_step:
                self._steps.append(self._stepping_s)
            self._stepping_s, self._complete_step = 0.0, True

    def _skip_gap(self, gap_s: float, sample: ActivitySample) -> None:
        """We did not run meanwhile: the process is not judged by that time."""
        self._shift_last(gap_s, sample.now)
        self._samples.clear()
        self._samples.append(sample)

    def _shift_last(self, by_s: float, now: float) -> None:
        self.last_activity = LastActivity(
            *(min(now, getattr(self.last_activity, name) + by_s) for name in LastActivity.__slots__)
        )
