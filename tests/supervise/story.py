"""A run played second by second to the real judgement, without a clock, a process or a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.journal.beats import Beat, Phase
from holdfast.journal.events import SamePointSeen
from holdfast.supervise.stall import judgement as stall_judgement
from holdfast.supervise.stall.activity import ActivitySample, ActivityTracker
from holdfast.supervise.stall.gpu_wait import NOWHERE, SamePoint
from holdfast.supervise.stall.judgement import CloserLook, StallInputs, StallJudgement


@dataclass
class Story:
    """Counters as a process would have them. Each method lets time pass; `stall` is the first one, if any."""

    configured_s: float | None = None
    cpu_contention: float = 1.0
    closer_look: CloserLook = field(default_factory=CloserLook)
    now: float = 1000.0
    cpu_s: float = 0.0
    read_bytes: int = 0
    output_bytes: int = 0
    rss_bytes: int = 300 << 20
    state: str = "S"
    gpu_busy: bool = False
    sleeps: bool = False
    same_point: SamePointSeen | None = None  # from ten seconds of silence on, reported every four
    made_progress: bool = False
    filtered_per_s: int = 0  # elements that a filter is given and drops
    filtered_round: int = 0  # elements of the data that is repeated below it
    step: int = 0
    epoch: int = 0
    fit: int = 1
    train_batches: int = 0
    test_batches: int = 0
    stall: StallJudgement | None = None
    stalled_at: float = 0.0
    limits_s: list[float] = field(default_factory=list)  # of all stalls
    filtered_elements: int = 0
    threads_run: bool = False
    _sequence: int = 0
    _beat: Beat | None = None
    _new_beats: list[Beat] = field(default_factory=list)
    _suspended_at: float | None = None
    _announced: tuple[StallInputs, StallJudgement] | None = None

    _latest: StallInputs = field(init=False)

    def __post_init__(self) -> None:
        self.activity = ActivityTracker(self.now)

    def beat(self, phase: Phase, **changes: int) -> Story:
        for name, value in changes.items():
            setattr(self, name, value)
        self._sequence += 1
        self._beat = Beat(
            sequence=self._sequence, mono=self.now, phase=phase, attempt=1, pid=7, callback_index=0, fit=self.fit,
            epoch=self.epoch, step=self.step, train_batches=self.train_batches, test_batches=self.test_batches,
            data_wait_ns=0, compute_ns=0, loss=0.0, has_loss=True, step_ns=0,
        )  # fmt: skip
        self._new_beats.append(self._beat)
        return self

    def steps(self, count: int, seconds: float, *, cores: float = 1.0) -> Story:
        for _ in range(count):
            self.beat(Phase.STEP)
            self.wait(seconds, cores=cores)
            self.beat(Phase.BETWEEN, step=self.step + 1, train_batches=self.train_batches + 1)
        return self

    def wait(
        self,
        seconds: float,
        *,
        cores: float = 0.0,
        reads_per_s: int = 0,
        grows_per_s: int = 0,
        prints: bool = False,
    ) -> Story:
        """Time passes; ticks come once a second."""
        end = self.now + seconds
        while self.now < end - 1e-9:
            passed = min(1.0, end - self.now)
            self.now += passed
            self.cpu_s += cores * passed
            self.read_bytes += round(reads_per_s * passed)
            self.rss_bytes += round(grows_per_s * passed)
            self.output_bytes += 10 if prints else 0
            self.filtered_elements += round(self.filtered_per_s * passed)
            self._tick()
        return self

    def _tick(self) -> None:
        sample = ActivitySample(
            now=self.now, beat=self._beat, state=self.state, cpu_s=self.cpu_s, read_bytes=self.read_bytes,
            rss_bytes=self.rss_bytes, output_bytes=self.output_bytes,
            gpu_busy=self.gpu_busy, sleeps=self.sleeps, threads_run=self.threads_run,
        )  # fmt: skip
        self.activity.update(sample, self._new_beats)
        self._new_beats = []
        if self.state == "T":
            self._suspended_at = self._suspended_at or self.now
        else:
            self._suspended_at = None
        inputs = StallInputs(
            now=self.now,
            beat=self._beat,
            suspended_for_s=None if self._suspended_at is None else self.now - self._suspended_at,
            last_activity=self.activity.last_activity,
            memory_flat=self.activity.memory_flat,
            durations=self.activity.durations(),
            closer_look=self.closer_look if closer_look_taken(self) else CloserLook(),
            configured_s=self.configured_s,
            filtered_elements=self.filtered_elements,
            filtered_rounds=self.filtered_elements // self.filtered_round if self.filtered_round else 0,
            made_progress=self.made_progress,
            same_point=self._reported_point(),
            cpu_contention=self.cpu_contention,
        )
        self._judge(inputs)

    def _reported_point(self) -> SamePoint:
        silent_s = self.now - self._beat.mono if self._beat is not None else 0.0
        if self.same_point is None or silent_s < 10:
            return NOWHERE
        ago_s = (silent_s - 10) % 4
        point = self.same_point
        seen = SamePointSeen(step=self.step, for_s=silent_s - ago_s, frames=point.frames, result=point.result)
        return SamePoint(seen, self.now - ago_s)

    def announced_inputs(self) -> StallInputs:
        assert self._announced is not None
        return self._announced[0]

    def _judge(self, inputs: StallInputs) -> None:
        """As the detector does: a stall lasts until something moves, and its length is learned."""
        if self._announced is not None and stall_judgement.has_recovered(self._announced[0], inputs):
            self.activity.learn_pause(stall_judgement.ended_stall(*self._announced, self._latest))
            self._announced = None
        self._latest = inputs
        if self._announced is not None:
            return
        judgement = stall_judgement.judge(inputs)
        if judgement.stalled:
            self._announced = (inputs, judgement)
            self.limits_s.append(judgement.limit_s)
            if self.stall is None:
                self.stall, self.stalled_at = judgement, self.now


def closer_look_taken(story: Story) -> bool:
    """The closer look is taken only after six still seconds."""
    beat = story._beat
    return beat is None or story.now - beat.mono > 6


def trained(count: int = 40, seconds: float = 0.2) -> Story:
    """A run in the middle of its second epoch."""
    story = Story()
    story.beat(Phase.IMPORT).wait(5, cores=1)
    story.beat(Phase.BUILD).wait(1, cores=1)
    story.beat(Phase.COMPILE).wait(3, cores=1)
    story.beat(Phase.BETWEEN, step=1, train_batches=1)
    story.steps(count, seconds)
    assert story.stall is None
    return story
