"""What moved when: beats, processor time, bytes, memory, output. Fed once a second; the clock is in what it is
fed.
"""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass

from holdfast.journal.beats import Beat, Phase
from holdfast.supervise.stall.phase_limits import PhaseGroup, RunDurations, phase_group_of

_WINDOW_S = 60.0
_SHORT_S = 5.0
_ACTIVE_CPU_S = (
    0.03  # in five seconds; a deadlocked TensorFlow process used none in ten minutes, the probe a tick or two
)
_ACTIVE_BYTES = 32 * 1024  # read or written in five seconds; the probe's own lines are fewer
_WORK_S = 0.9
_WORK_SHARE = 0.05  # of a core
_WORK_READ_BYTES = 128 * 1024  # in about a second
_GROWTH_BYTES = 512 * 1024
_GROWTH_S = 30.0
_SUPERVISOR_GAP_S = 8.0  # a gap between looks from which we were away ourselves, suspended or starved
_KEPT_STEPS = 512
_OUTLIER = 20.0


@dataclass(frozen=True, slots=True)
class ActivitySample:
    """What one look at the processes saw; sums run over all of them and never fall."""

    now: float
    beat: Beat | None = None
    state: str = "S"
    cpu_s: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0
    rss_bytes: int = 0
    output_bytes: int = 0
    gpu_busy: bool = False


@dataclass(frozen=True, slots=True)
class LastActivity:
    """When each thing last moved."""

    beat: float
    output: float
    read: float
    written: float
    cpu: float  # any processor time, here or on the GPU
    memory: float  # grew or shrank by half a mebibyte since the last such mark
    working: float  # worked in earnest: a twentieth of a core, reads, output


@dataclass(frozen=True, slots=True)
class EndedStall:
    """A stall that ended by itself."""

    stage: PhaseGroup
    for_s: float
    busy: bool  # it worked all the time


class ActivityTracker:
    """Keeps the marks, and learns how long things take."""

    def __init__(self, now: float) -> None:
        self.marks = LastActivity(*(now for _ in range(7)))
        self._looks: deque[ActivitySample] = deque()
        self._last_beat: Beat | None = None
        self._last_sequence = 0
        self._marked_rss = 0
        self._stepping_s = 0.0
        self._whole_step = False
        self._steps: deque[float] = deque(maxlen=_KEPT_STEPS)
        self._longest_s: dict[PhaseGroup, float] = {}
        self._longest_compile_s = 0.0
        self._suspended_s = 0.0  # since the last beat
        self._paused_s: dict[PhaseGroup, float] = {}
        self._worked_s: dict[PhaseGroup, float] = {}

    def remember(self, pause: EndedStall | None) -> None:
        """What has come once may come again, and is no stall then."""
        if pause is not None:
            kept = self._worked_s if pause.busy else self._paused_s
            kept[pause.stage] = max(kept.get(pause.stage, 0.0), pause.for_s)

    def see(self, look: ActivitySample, fresh: list[Beat]) -> None:
        away_s = look.now - self._looks[-1].now if self._looks else 0.0
        self._looks.append(look)
        while look.now - self._looks[0].now > _WINDOW_S:
            self._looks.popleft()
        for beat in fresh:
            self._learn(beat)
        self._mark(look)
        if look.state == "T":  # it could not move, and is not to blame for that once it goes on
            self._suspended_s += away_s
            self._shift_marks(away_s, look.now)
        if away_s > _SUPERVISOR_GAP_S:
            self._forgive(away_s, look)

    @property
    def flat(self) -> bool:
        """Memory has stood still for half a minute."""
        now = self._looks[-1].now if self._looks else 0.0
        return now - self.marks.memory >= _GROWTH_S

    def taken(self) -> RunDurations:
        median = statistics.median(self._steps) if self._steps else 0.0
        normal = [s for s in self._steps if len(self._steps) < 30 or s <= _OUTLIER * median]
        return RunDurations(
            longest_s=dict(self._longest_s),
            steps=len(self._steps),
            longest_step_s=max(normal, default=0.0),
            median_step_s=median,
            longest_compile_s=self._longest_compile_s,
            paused_s=dict(self._paused_s),
            worked_s=dict(self._worked_s),
        )

    def _mark(self, look: ActivitySample) -> None:
        before, lately = self._ago(_SHORT_S), self._ago(_WORK_S)
        worked = (
            look.cpu_s - lately.cpu_s >= _WORK_SHARE * max(1.0, look.now - lately.now)
            or look.read_bytes - lately.read_bytes >= _WORK_READ_BYTES
            or look.output_bytes > lately.output_bytes
            or look.gpu_busy
            or look.state == "R"  # on a crowded machine it may be ready to run and yet get next to nothing
        )
        last = self._looks[-2] if len(self._looks) > 1 else look
        beat_moved = look.beat is not None and look.beat.sequence != self._last_sequence
        if look.beat is not None:
            self._last_sequence = look.beat.sequence
        now, marks = look.now, self.marks
        memory_moved = abs(look.rss_bytes - self._marked_rss) >= _GROWTH_BYTES
        if memory_moved:
            self._marked_rss = look.rss_bytes
        self.marks = LastActivity(
            beat=min(now, look.beat.mono) if beat_moved and look.beat is not None else marks.beat,
            output=now if look.output_bytes > last.output_bytes else marks.output,
            read=now if look.read_bytes - before.read_bytes >= _ACTIVE_BYTES and look.read_bytes > last.read_bytes
            else marks.read,
            written=now if look.written_bytes - before.written_bytes >= _ACTIVE_BYTES
            and look.written_bytes > last.written_bytes else marks.written,
            cpu=now if look.gpu_busy or (look.cpu_s - before.cpu_s >= _ACTIVE_CPU_S and look.cpu_s > last.cpu_s)
            else marks.cpu,
            memory=now if memory_moved else marks.memory,
            working=now if worked else marks.working,
        )  # fmt: skip

    def _ago(self, seconds: float) -> ActivitySample:
        """The look of about then, or the oldest there is."""
        now = self._looks[-1].now
        for look in reversed(self._looks):
            if now - look.now >= seconds:
                return look
        return self._looks[0]

    def _learn(self, beat: Beat) -> None:
        last, self._last_beat = self._last_beat, beat
        if last is None or last.pid != beat.pid:
            return
        if beat.sequence != last.sequence + 1:  # too many to see them all, so they are short
            self._stepping_s, self._whole_step = 0.0, False
            return
        gap_s = beat.mono - last.mono
        if gap_s >= self._suspended_s:  # else it is a shorter one, before or after the suspension
            gap_s, self._suspended_s = gap_s - self._suspended_s, 0.0
        stage = phase_group_of(last)
        if last.phase is Phase.COMPILE:  # says nothing about how long later first batches take
            self._longest_compile_s = max(self._longest_compile_s, gap_s)
        else:
            self._longest_s[stage] = max(self._longest_s.get(stage, 0.0), gap_s)
        if stage in (PhaseGroup.STEP, PhaseGroup.LOOP_STEP):
            self._stepping_s += gap_s
        elif stage not in (PhaseGroup.CALLBACK, PhaseGroup.LOOP):
            self._whole_step = False
        if beat.step > last.step:
            if self._whole_step:
                self._steps.append(self._stepping_s)
            self._stepping_s, self._whole_step = 0.0, True

    def _forgive(self, away_s: float, look: ActivitySample) -> None:
        """Nobody looked meanwhile: what happened in that time is not held against the process."""
        self._shift_marks(away_s, look.now)
        self._looks.clear()
        self._looks.append(look)

    def _shift_marks(self, by_s: float, now: float) -> None:
        self.marks = LastActivity(
            *(min(now, getattr(self.marks, name) + by_s) for name in LastActivity.__slots__)
        )
