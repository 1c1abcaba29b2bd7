"""Counters that move for ever: a validation, an epoch or a loop of the user's own that has no end. Pure.

Nothing is silent here, so no limit of silence finds it. What is certain is a dataset without an end and
without a number of steps; what is likely is a count far beyond the plan or beyond every one before, or a
loop that ends by what it computes, and computes nothing better any more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from holdfast.journal.beats import Beat, Phase

INFINITE = -1
_SURE_AFTER_S = 10.0
_LIKELY_AFTER_S = 60.0
_TIMES_BEFORE = 3
_MIN_IMPROVEMENT = 0.05  # of the best loss: less in most of its time is no step towards an end
_LOOP_STEPS = 200


@dataclass(frozen=True, slots=True)
class PassProgress:
    """What is known of the plan."""

    beat: Beat
    for_s: float  # since the validation or the epoch began
    epoch_took_s: float | None  # the training part of the epoch before this validation
    planned: int | None = None
    cardinality: int | None = None
    longest_before: int = 0


@dataclass(frozen=True, slots=True)
class EndlessPass:
    what: str  # validation | epoch | loop
    batches: int
    why: str
    sure: bool


def judge_validation(course: PassProgress) -> EndlessPass | None:
    batches = course.beat.test_batches
    if course.beat.phase is not Phase.VALIDATION or batches == 0:
        return None
    if course.planned:
        if batches > course.planned + 1:
            return EndlessPass("validation", batches, f"{course.planned} batches were planned", True)
        return None
    if course.cardinality == INFINITE and course.for_s >= _SURE_AFTER_S:
        return EndlessPass(
            "validation", batches, "its dataset has no end, and no number of steps was given", True
        )
    if course.for_s < _LIKELY_AFTER_S:
        return None
    if course.longest_before:
        if batches > _TIMES_BEFORE * course.longest_before:
            return EndlessPass(
                "validation", batches, f"the longest before had {course.longest_before} batches", False
            )
        return None
    trained = course.beat.train_batches
    if trained and batches > 10 * trained and course.for_s > _TIMES_BEFORE * (course.epoch_took_s or 0.0):
        return EndlessPass("validation", batches, f"the whole epoch had {trained} batches of training", False)
    return None


def judge_epoch(course: PassProgress) -> EndlessPass | None:
    batches = course.beat.train_batches
    if course.beat.phase is Phase.VALIDATION or batches == 0 or course.planned:
        return None
    if course.cardinality == INFINITE and course.for_s >= _SURE_AFTER_S:
        return EndlessPass(
            "epoch", batches, "its dataset has no end, and steps_per_epoch was not given", True
        )
    if (
        course.longest_before
        and course.for_s >= _LIKELY_AFTER_S
        and batches > _TIMES_BEFORE * course.longest_before
    ):
        return EndlessPass("epoch", batches, f"the longest before had {course.longest_before} steps", False)
    return None


@dataclass(slots=True)
class BestLoss:
    """The best loss of a training, and since when it has been the best."""

    began: float | None = None
    loss: float = math.inf
    since: float = 0.0
    since_step: int = 0

    def see(self, beat: Beat, now: float) -> None:
        if not beat.step:
            return
        self.began = now if self.began is None else self.began
        known = beat.loss_known and math.isfinite(beat.loss)
        if known and not beat.loss >= self.loss - _MIN_IMPROVEMENT * abs(self.loss):
            self.loss, self.since, self.since_step = beat.loss, now, beat.step


def judge_loop(best: BestLoss, goes_on: str, *, step: int, now: float) -> EndlessPass | None:
    """A loop that goes on until what it computes gets there, and has not come nearer for two thirds of its time."""
    if best.began is None or not goes_on or math.isinf(best.loss):
        return None
    for_s, stood_s = now - best.began, now - best.since
    if for_s < _LIKELY_AFTER_S or stood_s < for_s * 2 / 3 or step - best.since_step < _LOOP_STEPS:
        return None
    why = f"it goes on {goes_on}, and the loss has not become better than {best.loss:.4g} since step {best.since_step}"
    return EndlessPass("loop", step, why, False)
