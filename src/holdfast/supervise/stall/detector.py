"""Raises the alarm when a run stalls, takes it back when it moves again, and captures the stacks meanwhile."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from holdfast.host.threads import BackgroundCall
from holdfast.journal.beats import Beat, Phase
from holdfast.journal.events import EndlessSeen, StacksCaptured, Stalled, StallEnded
from holdfast.journal.folder import RunFolder
from holdfast.supervise.end_summary import duration
from holdfast.supervise.recording.journal_state import JournalState
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.stack_capture.capture import StackCapture
from holdfast.supervise.stall import closer_look, endless_loops
from holdfast.supervise.stall import judgement as stall_judgement
from holdfast.supervise.stall.activity import ActivitySample, ActivityTracker
from holdfast.supervise.stall.endless_loops import EndlessPass, PassProgress
from holdfast.supervise.stall.judgement import CloserLook, Situation, StallJudgement
from holdfast.supervise.stall.phase_limits import PhaseGroup, StackActivity

_CLOSER_LOOK_EVERY_S = 15.0  # between closer looks, which hold the process up for some milliseconds
_CLOSER_LOOK_TIMEOUT_S = 3.0
_MAX_CPU_CONTENTION = 10.0
_CAPTURE_BEFORE_KILL_S = 1.5
_MOST_CAPTURES = 20  # of one phase, which hold the process up for a moment each
_LONG_STALL_S = 600.0  # from which a stall is captured all the same: it is not one of those that end
_WITH_STACK = frozenset(
    {
        PhaseGroup.STARTING,
        PhaseGroup.STEP,
        PhaseGroup.LOOP_STEP,
        PhaseGroup.VALIDATION_START,
        PhaseGroup.BUILD,
        PhaseGroup.IMPORT,
        PhaseGroup.CALLBACK,
    }
)


def cpu_contention(load: float, cores: int) -> float:
    """How many processes want each core; at least one, and bounded so that a stall is noticed at last."""
    return min(_MAX_CPU_CONTENTION, max(1.0, load / cores))


class StallDetector:
    def __init__(
        self,
        folder: RunFolder,
        recorder: Recorder,
        told: JournalState,
        *,
        now: float,
        by_hand_s: float | None,
        say: Callable[[str], None],
    ) -> None:
        self._folder = folder
        self._record = recorder
        self._told = told
        self._by_hand_s = by_hand_s
        self._say = say
        self._progress = ActivityTracker(now)
        self._suspended_at: float | None = None
        self._closer = CloserLook()
        self._closer_at = float("-inf")
        self._closer_sequence = -1
        self._stalled_at: Situation | None = None
        self._judgement: StallJudgement | None = None  # of the stall that stands
        self._latest: Situation | None = None  # the last look at which it stood
        self._captures: Counter[str] = Counter()  # by phase
        self._capturing: StackCapture | None = None
        self._looking: BackgroundCall[None] | None = None
        self._closer_errand: BackgroundCall[CloserLook] | None = None
        self._beat: Beat | None = None
        self._course_key: tuple[str, int, int] | None = None
        self._course_began = now
        self._epoch_took_s: float | None = None
        self._endless_key: tuple[str, int, int] | None = None  # of the validation that is taken for a stall
        self._endless_said: set[tuple[str, int, int]] = set()
        self._best = endless_loops.BestLoss()
        self.suspicious = False
        self.words = ""  # the stall that stands, for the end block
        self.ours_to_suspend = False  # we stopped it ourselves, with Ctrl-Z

    @property
    def standing(self) -> bool:
        return self._stalled_at is not None

    @property
    def suspended(self) -> bool:
        """Whether what stands was stopped by somebody, and not by itself."""
        return self._stalled_at is not None and stall_judgement.is_suspended(self._stalled_at)

    @property
    def captured(self) -> bool:
        """Whether the stacks of the stall that stands are all there."""
        return self._capturing is None or (self._capturing.done and self._looking is None)

    def look(self, look: ActivitySample, fresh: list[Beat], pids: Sequence[int], trainer: int) -> None:
        """One look a second; writes what there is to write."""
        self._progress.see(look, fresh)
        self._take_in_closer()
        situation = self._situation(look)
        if self._stalled_at is not None and self._is_over(self._stalled_at, situation):
            self._end(look.now)
        self._latest = situation
        if self._stalled_at is None:
            judgement = stall_judgement.judge(situation)
            self.suspicious = judgement.suspicious
            if judgement.suspicious:
                self._look_closer(look, pids, trainer, judgement.stage)
            if judgement.stalled and not self._closer_under_way(look.now):
                self._announce(judgement, situation)
        self._watch_course(look)
        self._capture(pids, trainer, look.now)

    def capture_before_kill(self, trainer: int, *, now: float) -> None:
        """One look at a process that is about to be killed; not waited for beyond a moment."""
        if self._looking is not None and not self._looking.wait(_CAPTURE_BEFORE_KILL_S):
            return
        capturing = self._new_capture("before-kill", self._beat)
        BackgroundCall(lambda: self._take_look(capturing, [], trainer, now)).wait(_CAPTURE_BEFORE_KILL_S)

    # -- the stall ----------------------------------------------------------------------------

    def _situation(self, look: ActivitySample) -> Situation:
        if look.state == "T" and not self.ours_to_suspend:
            self._suspended_at = self._suspended_at if self._suspended_at is not None else look.now
        else:
            self._suspended_at = None
        self._beat = look.beat
        moved = look.beat is not None and look.beat.sequence != self._closer_sequence
        return Situation(
            now=look.now,
            beat=look.beat,
            suspended_for_s=None if self._suspended_at is None else look.now - self._suspended_at,
            marks=self._progress.marks,
            flat=self._progress.flat,
            taken=self._progress.taken(),
            closer=CloserLook() if moved else self._closer,
            by_hand_s=self._by_hand_s,
            sifted=self._told.sifted,
            crowding=cpu_contention(os.getloadavg()[0], len(os.sched_getaffinity(0))),
        )

    def _look_closer(
        self, look: ActivitySample, pids: Sequence[int], trainer: int, stage: PhaseGroup
    ) -> None:
        if self._closer_errand is not None:
            return
        sequence = look.beat.sequence if look.beat is not None else -1
        if look.now - self._closer_at < _CLOSER_LOOK_EVERY_S and sequence == self._closer_sequence:
            return
        if sequence != self._closer_sequence:  # what was seen before was seen in another phase or step
            self._closer = CloserLook()
        self._closer_at, self._closer_sequence = look.now, sequence
        with_stack = stage in _WITH_STACK
        self._closer_errand = BackgroundCall(
            lambda: closer_look.look(trainer, list(pids), with_stack=with_stack)
        )

    def _take_in_closer(self) -> None:
        errand = self._closer_errand
        if errand is not None and errand.done:
            found = errand.result or CloserLook()
            known = found.doing is not StackActivity.UNKNOWN
            self._closer = found if known else replace(found, doing=self._closer.doing)
            self._closer_errand = None

    def _closer_under_way(self, now: float) -> bool:
        """A closer look that has just begun may still speak for the process."""
        return (
            self._closer_errand is not None and now - self._closer_errand.started_at < _CLOSER_LOOK_TIMEOUT_S
        )

    def _is_over(self, stalled_at: Situation, situation: Situation) -> bool:
        """A validation without an end is over when it ends; any other stall when something moves."""
        if self._endless_key is not None:
            return situation.beat is not None and _pass_key(situation.beat) != self._endless_key
        return stall_judgement.has_recovered(stalled_at, situation)

    def _announce(self, judgement: StallJudgement, situation: Situation) -> None:
        beat = situation.beat
        self._stalled_at, self._judgement = situation, judgement
        self._capturing = self._new_capture("stall", beat) if self._may_capture(beat) else None
        event = Stalled(
            phase=beat.phase.word if beat is not None else "",
            callback=self._told.callback_name(beat.detail) if beat is not None else "",
            step=beat.step if beat is not None else None,
            epoch=beat.epoch if beat is not None else None,
            silent_for_s=round(judgement.silent_for_s, 1),
            limit_s=round(judgement.limit_s, 1),
            limit_from=judgement.limit_from,
            progress={**judgement.progress, **self._counts(beat)},
            stacks=[self._capturing.file] if self._capturing is not None else [],
        )
        self._record.append(event)
        self.words = describe_stall(event, busy=judgement.busy)
        if self._endless_key is None:  # which has been said already
            self._say(f"holdfast: stalled: {self.words}")

    def _counts(self, beat: Beat | None) -> dict[str, object]:
        found: dict[str, object] = {"doing": self._closer.doing.value} if self._closer_at > 0 else {}
        if beat is not None:
            found |= {"train_batches": beat.train_batches, "test_batches": beat.test_batches}
        if self._closer.reads_terminal:
            found["reads_terminal"] = True
        if self._closer.locked:
            found["all_threads_locked"] = True
        if self._closer.opens_in_vain:
            found["opens_in_vain"] = True
        return found

    def _end(self, now: float) -> None:
        stood, judgement, latest = self._stalled_at, self._judgement, self._latest
        if stood is not None and judgement is not None and latest is not None and self._endless_key is None:
            self._progress.remember(stall_judgement.ended_stall(stood, judgement, latest))
        self._stalled_at = self._judgement = None
        self._endless_key = None
        self._capturing = None
        self.words = ""
        if stood is not None:
            began = (
                min(stood.now, stood.beat.mono)
                if stood.beat
                else stood.now - stall_judgement.silent_for(stood)
            )
            silent_for_s = now - began
            self._record.append(StallEnded(silent_for_s=round(silent_for_s, 1)))
            self._say(f"holdfast: it moves again, after {duration(silent_for_s)}")

    # -- stacks -------------------------------------------------------------------------------

    def _may_capture(self, beat: Beat | None) -> bool:
        phase = beat.phase.word if beat is not None else ""
        self._captures[phase] += 1
        return self._captures[phase] <= _MOST_CAPTURES

    def _new_capture(self, reason: str, beat: Beat | None) -> StackCapture:
        return StackCapture(
            self._folder,
            attempt=self._record.attempt,
            reason=reason,
            phase=beat.phase.word if beat is not None else "",
            step=beat.step if beat is not None else 0,
            at=self._record.wall(),
        )

    def _capture(self, pids: Sequence[int], trainer: int, now: float) -> None:
        if self._looking is not None:
            if not self._looking.done:
                return
            self._looking = None
        stood = self._stalled_at
        if stood is not None and self._capturing is None and now - stood.now >= _LONG_STALL_S:
            self._capturing = self._new_capture("stall", stood.beat)
        capturing = self._capturing
        if capturing is not None and not capturing.done:
            self._looking = BackgroundCall(lambda: self._take_look(capturing, list(pids), trainer, now))

    def _take_look(self, capturing: StackCapture, pids: Sequence[int], trainer: int, now: float) -> None:
        first = not capturing.begun
        try:
            capturing.look([trainer, *(pid for pid in pids if pid != trainer)], trainer=trainer, now=now)
        except OSError as error:
            capturing.give_up()
            self._record.complain("stacks", error)
            return
        if first:
            self._record.append(StacksCaptured(reason=capturing.reason, file=capturing.file))

    # -- counters without an end --------------------------------------------------------------

    def _watch_course(self, look: ActivitySample) -> None:
        beat = look.beat
        if beat is None:
            return
        self._watch_loop(beat, look)
        key = _pass_key(beat)
        what = key[0]
        if key != self._course_key:
            if what == "validation":
                self._epoch_took_s = look.now - self._course_began
            self._course_key, self._course_began = key, look.now
        found = self._judge_course(what, beat, look.now - self._course_began)
        if found is not None and key not in self._endless_said:
            self._endless_said.add(key)
            self._announce_endless(found, look.now - self._course_began)
            if what == "validation" and self._stalled_at is None:
                self._endless_key = key
                self._announce(self._endless_judgement(found, look), self._situation(look))

    def _watch_loop(self, beat: Beat, look: ActivitySample) -> None:
        self._best.see(beat, look.now)
        key = ("loop", 0, 0)
        found = endless_loops.judge_loop(self._best, self._told.open_loop, step=beat.step, now=look.now)
        if found is not None and key not in self._endless_said and self._best.began is not None:
            self._endless_said.add(key)
            self._announce_endless(found, look.now - self._best.began)

    def _endless_judgement(self, found: EndlessPass, look: ActivitySample) -> StallJudgement:
        """A validation that never ends stalls the training, though its batches move."""
        for_s = look.now - self._course_began
        return StallJudgement(
            True, True, PhaseGroup.VALIDATION, for_s, 0.0, f"the validation may never end: {found.why}"
        )

    def _judge_course(self, what: str, beat: Beat, for_s: float) -> EndlessPass | None:
        told = self._told
        if what == "validation":
            planned, role, before = told.validation_planned, "validation", told.longest_validation_batches
        else:
            planned = told.fit.planned_steps_per_epoch if told.fit is not None else None
            role, before = "train", told.longest_epoch_steps
        course = PassProgress(
            beat=beat,
            for_s=for_s,
            epoch_took_s=self._epoch_took_s,
            planned=planned,
            cardinality=told.cardinality.get(role),
            longest_before=before,
        )
        return (
            endless_loops.judge_validation(course)
            if what == "validation"
            else endless_loops.judge_epoch(course)
        )

    def _announce_endless(self, found: EndlessPass, for_s: float) -> None:
        self._record.append(
            EndlessSeen(
                what=found.what, batches=found.batches, for_s=round(for_s, 1), why=found.why, sure=found.sure
            )
        )
        self._say(
            f"holdfast: this {found.what} may never end: {found.batches} batches in {duration(for_s)}; {found.why}"
        )


def _pass_key(beat: Beat) -> tuple[str, int, int]:
    return ("validation" if beat.phase is Phase.VALIDATION else "epoch", beat.fit, beat.epoch)


def _seconds(span_s: float) -> str:
    """Never rounded to less than the limit it is beyond: 8.5 s stays 8.5 s."""
    return f"{round(span_s, 1):g} s" if span_s < 100 else f"{span_s:.0f} s"


def describe_stall(event: Stalled, *, busy: bool = False) -> str:
    """``phase step, at step 119 of epoch 3: nothing moved for 10 s (limit 8.5 s: …)``"""
    where = f"phase {event.phase}" if event.phase else "no framework was seen in it"
    if event.callback:
        where += f" {event.callback}"
    if event.step is not None and event.epoch is not None and event.phase not in ("start", "import", "build"):
        where += f", after step {event.step}, epoch {event.epoch + 1}"
    if event.limit_s == 0:
        return f"{where}: {event.limit_from}"
    still = "no batch came" if busy else "nothing moved"
    return f"{where}: {still} for {_seconds(event.silent_for_s)} (limit {_seconds(event.limit_s)}: {event.limit_from})"
