"""Announces a stall, and its end when the run moves again.

A state machine: `stall` is None while the run moves. At each tick the activity is updated, the inputs are judged, and
the state changes at most once. Closer looks, stack captures and passes without an end have classes of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from holdfast.journal.beats import Beat
from holdfast.journal.events import EndlessSeen, Stalled, StallEnded
from holdfast.supervise.recording.journal_state import JournalState
from holdfast.supervise.recording.output_follower import PrintedPosition
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.stall import judgement as stall_judgement
from holdfast.supervise.stall import stall_text
from holdfast.supervise.stall.activity import ActivitySample, ActivityTracker
from holdfast.supervise.stall.closer_look import CloserLooks
from holdfast.supervise.stall.endless_loops import EndlessPass, EndlessReason, EndlessWatch, PassKey, pass_key
from holdfast.supervise.stall.judgement import StallInputs, StallJudgement, StallKind
from holdfast.supervise.stall.phase_limits import PhaseGroup
from holdfast.supervise.stall.stall_captures import StallCaptures

_MAX_CPU_CONTENTION = 10.0


def cpu_contention(load: float, cores: int) -> float:
    """Runnable processes per core; at least one, and bounded so that a stall is noticed in the end."""
    return min(_MAX_CPU_CONTENTION, max(1.0, load / cores))


def current_cpu_contention() -> float:
    return cpu_contention(os.getloadavg()[0], len(os.sched_getaffinity(0)))


@dataclass(frozen=True, slots=True)
class AnnouncedStall:
    """A stall that was announced and is not over."""

    inputs: StallInputs  # when it was announced
    judgement: StallJudgement
    description: str
    endless: PassKey | None = None  # the validation without an end that it is

    @property
    def suspended(self) -> bool:
        """Whether somebody stopped the process."""
        return self.judgement.kind is StallKind.SUSPENDED


class StallDetector:
    def __init__(
        self,
        recorder: Recorder,
        journal: JournalState,
        captures: StallCaptures,
        *,
        now: float,
        configured_s: float | None,
        print_line: Callable[[str], None],
        gentle: bool = False,
    ) -> None:
        self.stall: AnnouncedStall | None = None
        self.suspicious = False
        self.printed: PrintedPosition | None = None  # how far it has come, where only its output says so
        self.suspended_by_us = False  # with Ctrl-Z, which is no stall
        self._recorder = recorder
        self._journal = journal
        self._captures = captures
        self._configured_s = configured_s
        self._print_line = print_line
        self._activity = ActivityTracker(now)
        self._closer_looks = CloserLooks(captures.folder, gentle=gentle)
        self._endless = EndlessWatch(journal, now=now)
        self._suspended_at: float | None = None
        self._latest: StallInputs | None = None  # of the last tick
        self._was_reading = False
        self._cpu_s = 0.0  # at the last tick
        self._reading_cpu_s = 0.0  # in all ticks in which stacks were read

    def update(
        self, sample: ActivitySample, new_beats: list[Beat], pids: Sequence[int], trainer: int
    ) -> None:
        """One tick; records and prints what changed."""
        sample = self._without_our_reading(sample)
        self._activity.update(sample, new_beats)
        self._closer_looks.collect()
        inputs = self._stall_inputs(sample)
        if self.stall is not None and _is_over(self.stall, inputs, self._captures.disturbed_until):
            self._end(self.stall, sample.now)
        self._latest = inputs
        if self.stall is None:
            self._judge(inputs, pids, trainer)
        if sample.beat is not None:
            for endless in self._endless.update(sample.beat, sample.now):
                self._announce_endless(endless, inputs)
        stalled_for_s = sample.now - self.stall.inputs.now if self.stall is not None else 0.0
        stalled_beat = self.stall.inputs.beat if self.stall is not None else None
        self._captures.update(pids, trainer, now=sample.now, beat=stalled_beat, stalled_for_s=stalled_for_s)

    def _without_our_reading(self, sample: ActivitySample) -> ActivitySample:
        """Without the CPU time of ticks in which stacks were read: it may be that of the reading. Between two readings
        there are ticks without one, and a process that works is seen to work then."""
        reading = self._captures.reading or self._closer_looks.reading
        if reading or self._was_reading:
            self._reading_cpu_s += sample.cpu_s - self._cpu_s
        self._was_reading, self._cpu_s = reading, sample.cpu_s
        return replace(sample, cpu_s=sample.cpu_s - self._reading_cpu_s)

    def _stall_inputs(self, sample: ActivitySample) -> StallInputs:
        if sample.state == "T" and not self.suspended_by_us:
            self._suspended_at = self._suspended_at if self._suspended_at is not None else sample.now
        else:
            self._suspended_at = None
        return StallInputs(
            now=sample.now,
            beat=sample.beat,
            suspended_for_s=None if self._suspended_at is None else sample.now - self._suspended_at,
            last_activity=self._activity.last_activity,
            memory_flat=self._activity.memory_flat,
            durations=self._activity.durations(),
            closer_look=self._closer_looks.valid_for(sample.beat),
            configured_s=self._configured_s,
            filtered_elements=self._journal.filtered_elements,
            filtered_rounds=self._journal.filtered_rounds,
            made_progress=self.printed is not None,
            same_point=self._journal.same_point,
            cpu_contention=current_cpu_contention(),
        )

    def _judge(self, inputs: StallInputs, pids: Sequence[int], trainer: int) -> None:
        judgement = stall_judgement.judge(inputs)
        self.suspicious = judgement.suspicious
        if judgement.suspicious:
            self._closer_looks.start(inputs.beat, pids, trainer, judgement.phase_group, now=inputs.now)
        if judgement.stalled and not self._closer_looks.running(inputs.now):
            stall = self._announce(judgement, inputs)
            self._print_line(f"holdfast: stalled: {stall.description}")

    def _announce(
        self, judgement: StallJudgement, inputs: StallInputs, endless: EndlessPass | None = None
    ) -> AnnouncedStall:
        beat, by_stacks = inputs.beat, inputs.closer_look.phase
        phase = beat.phase if beat is not None else by_stacks
        event = Stalled(
            phase=phase.label if phase is not None else "",
            callback=self._journal.callback_name(beat.callback_index) if beat is not None else "",
            step=beat.step if beat is not None else None,
            epoch=beat.epoch if beat is not None else None,
            silent_for_s=round(judgement.silent_for_s, 1),
            limit_s=round(judgement.limit_s, 1),
            limit_from=stall_text.limit_from(judgement, endless),
            progress={**judgement.ages_s, **self._progress(inputs)},
            stacks=self._captures.begin(beat),
        )
        self._recorder.append(event)
        description = stall_text.describe_stall(event, busy=judgement.busy)
        key = pass_key(beat) if endless is not None and beat is not None else None
        self.stall = AnnouncedStall(inputs, judgement, description, key)
        return self.stall

    def _progress(self, inputs: StallInputs) -> dict[str, object]:
        """For `Stalled.progress`: what the closer look found, and the counters."""
        beat, look = inputs.beat, self._closer_looks.latest
        facts: dict[str, object] = {"doing": look.activity.value} if self._closer_looks.any_taken else {}
        if stall_judgement.on_gpu(inputs):
            facts["on_gpu_s"] = inputs.same_point.seen.for_s
        if beat is None and look.phase is not None:
            facts["phase_by_stacks"] = True
        if beat is None and self.printed is not None:
            facts["printed"] = self.printed.words()
        if beat is None and look.tree.waits_on:
            facts |= {"waits": look.tree.wait.value, "waits_on": look.tree.waits_on}
        if beat is not None:
            facts |= {"train_batches": beat.train_batches, "test_batches": beat.test_batches}
        flags = {
            "reads_terminal": look.reads_terminal,
            "all_threads_locked": look.all_locked,
            "opens_in_vain": look.blocked_on_fifo,
        }
        return facts | {name: True for name, value in flags.items() if value}

    def _end(self, stall: AnnouncedStall, now: float) -> None:
        if self._latest is not None and stall.endless is None:
            self._activity.learn_pause(
                stall_judgement.ended_stall(stall.inputs, stall.judgement, self._latest)
            )
        self.stall = None
        self._captures.end()
        inputs = stall.inputs
        last_moved = (
            min(inputs.now, inputs.beat.mono)
            if inputs.beat
            else inputs.now - stall_judgement.silent_for(inputs)
        )
        self._recorder.append(StallEnded(silent_for_s=round(now - last_moved, 1)))
        self._print_line(stall_text.recovery_line(now - last_moved))

    def _announce_endless(self, endless: EndlessPass, inputs: StallInputs) -> None:
        self._recorder.append(
            EndlessSeen(
                what=endless.what,
                batches=endless.batches,
                for_s=round(endless.for_s, 1),
                why=stall_text.endless_reason(endless),
                sure=endless.sure,
            )
        )
        self._print_line(stall_text.endless_line(endless))
        ends = endless.reason is EndlessReason.PLANNED_BEYOND_TRAINING
        if endless.what == "validation" and self.stall is None and not ends:
            # It stalls the training, though its batches move.
            judgement = StallJudgement(
                StallKind.ENDLESS_VALIDATION, True, PhaseGroup.VALIDATION, endless.for_s, 0.0
            )
            self._announce(judgement, inputs, endless)


def _is_over(stall: AnnouncedStall, inputs: StallInputs, disturbed_until: float) -> bool:
    """A validation without an end is over when it ends; any other stall when something moves."""
    if stall.endless is not None:
        return inputs.beat is not None and pass_key(inputs.beat) != stall.endless
    return stall_judgement.has_recovered(stall.inputs, inputs, disturbed_until=disturbed_until)
