"""Judges whether a run is stalled. Pure: what was seen and the clock come in, a judgement goes out."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.journal.beats import Beat
from holdfast.supervise.stall.activity import EndedStall, LastActivity
from holdfast.supervise.stall.phase_limits import (
    LIMIT_FACTOR,
    LIMIT_FLOOR_S,
    PhaseGroup,
    RunDurations,
    SilenceLimit,
    StackActivity,
    limit_of,
    phase_group_of,
)

_SUSPICIOUS_S = 6.0
_SUSPENDED_S = 1.0  # a debugger or a shell may stop a process for a moment


@dataclass(frozen=True, slots=True)
class CloserLook:
    """What a closer look found: taken when something looks wrong, because it costs the process a moment."""

    doing: StackActivity = StackActivity.UNKNOWN
    reads_terminal: bool = False  # a thread waits for somebody to type
    locked: bool = False  # every thread waits for another one, without a time limit
    opens_in_vain: bool = False  # a thread waits to open a file: a FIFO that nobody has opened to write


@dataclass(frozen=True, slots=True)
class Situation:
    now: float
    beat: Beat | None
    suspended_for_s: float | None
    marks: LastActivity
    flat: bool
    taken: RunDurations
    closer: CloserLook = CloserLook()
    by_hand_s: float | None = None
    sifted: int = 0  # elements that a filter of the dataset was given since it last let one through
    crowding: float = (
        1.0  # how many want each core: work that takes a minute on a quiet machine takes as many
    )


@dataclass(frozen=True, slots=True)
class StallJudgement:
    stalled: bool
    suspicious: bool
    stage: PhaseGroup
    silent_for_s: float
    limit_s: float
    limit_from: str
    progress: dict[str, float] = field(default_factory=dict)
    busy: bool = False  # it works all the time, and no beat comes


def judge(situation: Situation) -> StallJudgement:
    """Stalled when nothing has stirred for the phase's idle limit, or no beat came for its busy limit."""
    now, marks, beat = situation.now, situation.marks, situation.beat
    stage = phase_group_of(beat)
    limit = _limit(situation, stage)
    silent_for_s = silent_for(situation)
    idle_for_s = now - max(marks.beat, marks.working if stage in _STRICT else _last_activity(marks))
    progress = _ages(marks, now, beat)
    if is_suspended(situation):
        for_s = situation.suspended_for_s or 0.0
        return StallJudgement(True, True, stage, for_s, 0.0, "the process is suspended", progress)
    over: tuple[float, float, str] | None = None
    idle = idle_for_s > limit.idle_s
    if idle:
        over = (max(idle_for_s, silent_for_s), limit.idle_s, limit.why)
    elif silent_for_s > situation.crowding * limit.busy_s:
        over = (
            silent_for_s,
            situation.crowding * limit.busy_s,
            f"busy all the time without a beat; {limit.why}",
        )
    elif situation.flat and silent_for_s > situation.crowding * limit.flat_s:
        why = "busy, but neither a batch comes nor does the memory grow"
        over = (silent_for_s, situation.crowding * limit.flat_s, why)
    elif situation.sifted >= _FILTERED_ELEMENTS and silent_for_s > _filter_limit(situation, stage):
        why = f"busy: the dataset's filter was given {situation.sifted:,} elements and let none through"
        over = (silent_for_s, _filter_limit(situation, stage), why)
    if over is not None:
        return StallJudgement(True, True, stage, *over, progress, busy=not idle)
    suspicious = idle_for_s > min(_SUSPICIOUS_S, 0.7 * limit.idle_s) or silent_for_s > 0.8 * min(
        limit.busy_s, limit.flat_s, _FLAT_LOOK_S
    )
    return StallJudgement(False, suspicious, stage, silent_for_s, limit.idle_s, limit.why, progress)


def is_suspended(situation: Situation) -> bool:
    return situation.suspended_for_s is not None and situation.suspended_for_s >= _SUSPENDED_S


#: In these a little stirring counts for nothing: batches are due.
_STRICT = frozenset({PhaseGroup.STEP, PhaseGroup.LOOP_STEP, PhaseGroup.VALIDATION})
_FLAT_LOOK_S = 35.0  # before the limit of a busy first batch can be judged, the stack must be looked at
_FILTERED_ELEMENTS = (
    200_000  # elements in a row that a filter drops; one that lets through one in 60,000 is slow, but it does
)
#: In these a process may wait for a person or a lock as long as it likes, as far as we know.
_NOT_OURS = frozenset({PhaseGroup.NONE, PhaseGroup.START})


def _filter_limit(situation: Situation, stage: PhaseGroup) -> float:
    """Ten seconds, or three times what a batch took before; not more on a crowded machine, for elements are counted."""
    if situation.by_hand_s is not None:
        return situation.by_hand_s
    taken = situation.taken
    before_s = (
        taken.longest_s.get(stage, 0.0) if taken.steps else 0.0
    )  # until then it is compiling that took long
    return max(LIMIT_FLOOR_S, LIMIT_FACTOR * max(before_s, taken.longest_step_s))


def _limit(situation: Situation, stage: PhaseGroup) -> SilenceLimit:
    closer = situation.closer
    limit = limit_of(stage, situation.taken, doing=closer.doing, by_hand_s=situation.by_hand_s)
    if stage is PhaseGroup.EXIT or limit.idle_s <= LIMIT_FLOOR_S:
        return limit
    if closer.locked:
        why = "every thread waits for another, without a time limit"
        came_out_s = LIMIT_FACTOR * situation.taken.longest_pause_s(
            stage
        )  # of it, and so may again: another process woke it
        return SilenceLimit(max(LIMIT_FLOOR_S, came_out_s), limit.busy_s, limit.flat_s, why)
    if closer.opens_in_vain and stage not in _NOT_OURS:
        why = "it waits to open a file that nobody opens at the other end"
        return SilenceLimit(LIMIT_FLOOR_S, limit.busy_s, limit.flat_s, why)
    if closer.reads_terminal and stage not in _NOT_OURS:
        return SilenceLimit(LIMIT_FLOOR_S, limit.busy_s, limit.flat_s, "it waits for somebody to type")
    return limit


def silent_for(situation: Situation) -> float:
    """Since the last beat; where nothing beats, since anything stirred."""
    marks = situation.marks
    return situation.now - (marks.beat if situation.beat is not None else _last_activity(marks))


def ended_stall(stood: Situation, judgement: StallJudgement, latest: Situation) -> EndedStall | None:
    """What a stall that is over was, by the last look at which it still stood.

    None where somebody else was the reason: who suspended it, who was asked, who should have opened a file.
    """
    if is_suspended(stood) or stood.closer.reads_terminal or stood.closer.opens_in_vain:
        return None
    return EndedStall(judgement.stage, silent_for(latest), judgement.busy)


def _last_activity(marks: LastActivity) -> float:
    return max(marks.output, marks.read, marks.written, marks.cpu, marks.memory)


def _ages(marks: LastActivity, now: float, beat: Beat | None) -> dict[str, float]:
    ages = {
        "output_s": now - marks.output,
        "read_s": now - marks.read,
        "written_s": now - marks.written,
        "cpu_s": now - marks.cpu,
        "memory_s": now - marks.memory,
        "working_s": now - marks.working,
    }
    if beat is not None:
        ages["beat_s"] = now - marks.beat
    return {name: round(age, 1) for name, age in ages.items()}


def has_recovered(stalled_at: Situation, situation: Situation) -> bool:
    """Whether a stall that was announced is over."""
    if is_suspended(stalled_at):
        return situation.suspended_for_s is None
    before, after = stalled_at.beat, situation.beat
    if after is not None:
        return before is None or after.sequence != before.sequence
    return _last_activity(situation.marks) > stalled_at.now + 1.0
