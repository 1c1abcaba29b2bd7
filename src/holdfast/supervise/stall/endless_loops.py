"""Counters that move forever: a validation, an epoch or a loop of the script's own that has no end.

Nothing is silent here, so no limit of silence finds it. Certain is a dataset without an end and without a number of
steps. Likely is a count far beyond the plan or beyond every one before, or a loop that ends by what it computes and
does not improve any more. The judgements are pure; `EndlessWatch` remembers when the pass began and what was reported.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

from holdfast.journal.beats import Beat, Phase
from holdfast.supervise.recording.journal_state import JournalState

_SURE_AFTER_S = 10.0
_LIKELY_AFTER_S = 60.0
_TIMES_BEFORE = 3
_TIMES_EPOCH = 10
_MIN_IMPROVEMENT = 0.05  # of the best loss: less over most of the time is no progress towards an end
_LOOP_STEPS = 200

PassKey = tuple[str, int, int]  # validation | epoch | loop, fit, epoch


@dataclass(frozen=True, slots=True)
class PassProgress:
    """One pass over a dataset so far, and what is known of its plan."""

    beat: Beat
    for_s: float  # since the validation or the epoch began
    epoch_took_s: float | None  # the training part of the epoch before this validation
    planned: int | None = None
    endless_data: bool = False  # it repeats, and nothing but a plan ends the pass
    longest_before: int = 0
    planned_training: int | None = None  # steps of the whole fit


class EndlessReason(enum.Enum):
    """Against what a pass was measured; `stall/stall_text.py` has the sentences."""

    PLAN_EXCEEDED = enum.auto()
    INFINITE_VALIDATION = enum.auto()
    INFINITE_EPOCH = enum.auto()
    LONGER_VALIDATION = enum.auto()
    LONGER_EPOCH = enum.auto()
    LONGER_THAN_EPOCH = enum.auto()
    PLANNED_BEYOND_TRAINING = enum.auto()
    LOSS_NOT_IMPROVING = enum.auto()


#: The plan itself has no end, or was exceeded. Otherwise the pass is only far longer than every one before.
_SURE = (EndlessReason.PLAN_EXCEEDED, EndlessReason.INFINITE_VALIDATION, EndlessReason.INFINITE_EPOCH)


@dataclass(frozen=True, slots=True)
class EndlessPass:
    what: str  # validation | epoch | loop
    batches: int
    reason: EndlessReason
    expected: int = 0  # batches of the plan or of the longest before; of a loop, the step of its best loss
    condition: str = ""  # of a loop: what ends it
    best_loss: float = math.nan
    for_s: float = 0.0

    @property
    def sure(self) -> bool:
        return self.reason in _SURE


class EndlessWatch:
    """Follows the passes of a run, and reports each one without an end once."""

    def __init__(self, journal: JournalState, *, now: float) -> None:
        self._journal = journal
        self._key: PassKey | None = None
        self._began = now
        self._epoch_took_s: float | None = None
        self._best = BestLoss()
        self._reported: set[PassKey] = set()

    def update(self, beat: Beat, now: float) -> list[EndlessPass]:
        """Those that are new at this tick."""
        return [endless for endless in (self._loop(beat, now), self._pass(beat, now)) if endless is not None]

    def _pass(self, beat: Beat, now: float) -> EndlessPass | None:
        key = pass_key(beat)
        if key != self._key:
            if key[0] == "validation":
                self._epoch_took_s = now - self._began
            self._key, self._began = key, now
        if key in self._reported:
            return None
        endless = self._judge(beat, now - self._began)
        if endless is not None:
            self._reported.add(key)
        return endless

    def _judge(self, beat: Beat, for_s: float) -> EndlessPass | None:
        journal, progress = self._journal, PassProgress(beat, for_s, self._epoch_took_s)
        if pass_key(beat)[0] == "validation":
            return judge_validation(
                replace(
                    progress,
                    planned=journal.validation_planned,
                    endless_data=journal.never_ends("validation"),
                    longest_before=journal.longest_validation_batches,
                    planned_training=journal.planned_steps,
                )
            )
        return judge_epoch(
            replace(
                progress,
                planned=journal.fit.planned_steps_per_epoch
                if journal.fit is not None and journal.in_fit
                else None,
                endless_data=journal.never_ends("train"),
                longest_before=journal.longest_epoch_steps if journal.in_fit else 0,
            )
        )

    def _loop(self, beat: Beat, now: float) -> EndlessPass | None:
        self._best.update(beat, now)
        key = ("loop", 0, 0)
        if key in self._reported:
            return None
        endless = judge_loop(self._best, self._journal.loop_condition, step=beat.step, now=now)
        if endless is not None:
            self._reported.add(key)
        return endless


def pass_key(beat: Beat) -> PassKey:
    return ("validation" if beat.phase is Phase.VALIDATION else "epoch", beat.fit, beat.epoch)


def judge_validation(progress: PassProgress) -> EndlessPass | None:
    batches = progress.beat.test_batches
    if progress.beat.phase is not Phase.VALIDATION or batches == 0:
        return None
    reason, expected = _validation_reason(progress, batches)
    if reason is None:
        return None
    return EndlessPass("validation", batches, reason, expected, for_s=progress.for_s)


def _validation_reason(progress: PassProgress, batches: int) -> tuple[EndlessReason | None, int]:
    planned, before, trained = progress.planned, progress.longest_before, progress.beat.train_batches
    if planned and batches > planned + 1:
        return EndlessReason.PLAN_EXCEEDED, planned
    if planned:
        return (
            EndlessReason.PLANNED_BEYOND_TRAINING if _dwarfs_training(progress, planned) else None
        ), planned
    if progress.endless_data and progress.for_s >= _SURE_AFTER_S:
        return EndlessReason.INFINITE_VALIDATION, 0
    if progress.for_s < _LIKELY_AFTER_S:
        return None, 0
    if before:
        return (EndlessReason.LONGER_VALIDATION if batches > _TIMES_BEFORE * before else None), before
    longer = progress.for_s > _TIMES_BEFORE * (progress.epoch_took_s or 0.0)
    if trained and batches > _TIMES_EPOCH * trained and longer:
        return EndlessReason.LONGER_THAN_EPOCH, trained
    return None, 0


def _dwarfs_training(progress: PassProgress, planned: int) -> bool:
    """One validation of more batches than the whole training, of data that repeats: its steps were counted in samples.

    It is reported when it has taken a minute, ten times the batches of its epoch and three times its time.
    """
    whole, trained = progress.planned_training or 0, progress.beat.train_batches
    if not progress.endless_data or not trained or not whole or planned <= max(whole, _TIMES_EPOCH * trained):
        return False
    begun = progress.for_s >= _LIKELY_AFTER_S and progress.beat.test_batches > _TIMES_EPOCH * trained
    return begun and progress.for_s > _TIMES_BEFORE * (progress.epoch_took_s or 0.0)


def judge_epoch(progress: PassProgress) -> EndlessPass | None:
    batches, before = progress.beat.train_batches, progress.longest_before
    if progress.beat.phase is Phase.VALIDATION or batches == 0 or progress.planned:
        return None
    if progress.endless_data and progress.for_s >= _SURE_AFTER_S:
        return EndlessPass("epoch", batches, EndlessReason.INFINITE_EPOCH, for_s=progress.for_s)
    if before and progress.for_s >= _LIKELY_AFTER_S and batches > _TIMES_BEFORE * before:
        return EndlessPass("epoch", batches, EndlessReason.LONGER_EPOCH, before, for_s=progress.for_s)
    return None


@dataclass(slots=True)
class BestLoss:
    """The best loss of a training, and since when it has been the best."""

    started_at: float | None = None
    loss: float = math.inf
    since: float = 0.0
    since_step: int = 0

    def update(self, beat: Beat, now: float) -> None:
        if not beat.step:
            return
        self.started_at = now if self.started_at is None else self.started_at
        known = beat.has_loss and math.isfinite(beat.loss)
        if known and not beat.loss >= self.loss - _MIN_IMPROVEMENT * abs(self.loss):
            self.loss, self.since, self.since_step = beat.loss, now, beat.step


def judge_loop(best: BestLoss, condition: str, *, step: int, now: float) -> EndlessPass | None:
    """A loop that runs until its result is good enough, and has not improved for two thirds of its time."""
    if best.started_at is None or not condition or math.isinf(best.loss):
        return None
    for_s, unimproved_s = now - best.started_at, now - best.since
    if for_s < _LIKELY_AFTER_S or unimproved_s < for_s * 2 / 3 or step - best.since_step < _LOOP_STEPS:
        return None
    reason = EndlessReason.LOSS_NOT_IMPROVING
    return EndlessPass("loop", step, reason, best.since_step, condition, best.loss, for_s)
