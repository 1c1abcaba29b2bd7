"""Counters that move for ever: a validation or an epoch that has no end. Pure.

Nothing is silent here, so no limit of silence finds it. What is certain is a dataset without an end and
without a number of steps; what is likely is a count far beyond the plan or beyond every one before.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.journal.beats import Beat, Phase

INFINITE = -1
_SURE_AFTER_S = 10.0
_LIKELY_AFTER_S = 60.0
_TIMES_BEFORE = 3


@dataclass(frozen=True, slots=True)
class Course:
    """What is known of the plan."""

    beat: Beat
    for_s: float  # since the validation or the epoch began
    epoch_took_s: float | None  # the training part of the epoch before this validation
    planned: int | None = None
    cardinality: int | None = None
    longest_before: int = 0


@dataclass(frozen=True, slots=True)
class Endless:
    what: str  # validation | epoch
    batches: int
    why: str
    sure: bool


def judge_validation(course: Course) -> Endless | None:
    batches = course.beat.test_batches
    if course.beat.phase is not Phase.VALIDATION or batches == 0:
        return None
    if course.planned:
        if batches > course.planned + 1:
            return Endless("validation", batches, f"{course.planned} batches were planned", True)
        return None
    if course.cardinality == INFINITE and course.for_s >= _SURE_AFTER_S:
        return Endless(
            "validation", batches, "its dataset has no end, and no number of steps was given", True
        )
    if course.for_s < _LIKELY_AFTER_S:
        return None
    if course.longest_before:
        if batches > _TIMES_BEFORE * course.longest_before:
            return Endless(
                "validation", batches, f"the longest before had {course.longest_before} batches", False
            )
        return None
    trained = course.beat.train_batches
    if trained and batches > 10 * trained and course.for_s > _TIMES_BEFORE * (course.epoch_took_s or 0.0):
        return Endless("validation", batches, f"the whole epoch had {trained} batches of training", False)
    return None


def judge_epoch(course: Course) -> Endless | None:
    batches = course.beat.train_batches
    if course.beat.phase is Phase.VALIDATION or batches == 0 or course.planned:
        return None
    if course.cardinality == INFINITE and course.for_s >= _SURE_AFTER_S:
        return Endless("epoch", batches, "its dataset has no end, and steps_per_epoch was not given", True)
    if (
        course.longest_before
        and course.for_s >= _LIKELY_AFTER_S
        and batches > _TIMES_BEFORE * course.longest_before
    ):
        return Endless("epoch", batches, f"the longest before had {course.longest_before} steps", False)
    return None
