"""How long each phase may be silent: from what the phase has taken so far, with generous first limits.

Two limits a phase. `idle_s` holds when nothing at all stirs: no beat, no processor time, no bytes, no output.
`busy_s` holds when no beat comes but the processes work: compiling, filling and the user's own code may work
for long, a training step may not, since a filter that never passes keeps all cores hot for ever.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field, replace

from holdfast.journal.beats import Beat, Phase

#: Ten seconds are promised; a look a second and a closer look need the rest.
LIMIT_FLOOR_S = 8.5
LIMIT_FACTOR = 3.0  # the longest normal step
_EXIT_FLOOR_S = 15.0  # TensorFlow's threads take up to ten seconds to go on a loaded machine


class PhaseGroup(enum.Enum):
    """Phases that share a limit."""

    NONE = "no framework seen"
    START = "the start"
    IMPORT = "importing"
    BUILD = "the script's own set-up"
    STARTING = "the first batch of an epoch"  # compiling, filling buffers, opening files: not told apart from outside
    STEP = "a training step"
    LOOP_STEP = "a step of the script's own loop"  # whatever else the loop does between two batches is in it
    LOOP = "the script's own loop, between steps"
    VALIDATION_START = "the first batch of a validation"
    VALIDATION = "a batch of validation"
    CALLBACK = "a callback"
    SAVE = "saving"
    AFTER = "the script after training"
    EXIT = "the end of the interpreter"


class StackActivity(enum.Enum):
    """What a look at the Python stack says, where one could be had."""

    UNKNOWN = "unknown"
    COMPILING = "compiling"
    IMPORTING = "importing"
    FREEING = (
        "freeing"  # the main thread stands in code that cannot wait: something native is taken apart below it
    )
    EXECUTING = "executing"


@dataclass(frozen=True, slots=True)
class SilenceLimit:
    idle_s: float
    busy_s: float
    flat_s: float = math.inf  # busy, but neither memory nor output moves
    why: str = "the first limit of this phase"


_INITIAL_LIMITS = {
    PhaseGroup.NONE: SilenceLimit(60.0, math.inf),
    PhaseGroup.START: SilenceLimit(60.0, math.inf),
    PhaseGroup.IMPORT: SilenceLimit(60.0, 900.0),
    PhaseGroup.BUILD: SilenceLimit(60.0, math.inf),
    PhaseGroup.STARTING: SilenceLimit(20.0, 1800.0, flat_s=45.0),
    PhaseGroup.STEP: SilenceLimit(30.0, 120.0),
    PhaseGroup.LOOP_STEP: SilenceLimit(30.0, 600.0),
    PhaseGroup.LOOP: SilenceLimit(60.0, math.inf),
    PhaseGroup.VALIDATION_START: SilenceLimit(45.0, 900.0, flat_s=90.0),
    PhaseGroup.VALIDATION: SilenceLimit(30.0, 120.0),
    PhaseGroup.CALLBACK: SilenceLimit(30.0, 900.0),
    PhaseGroup.SAVE: SilenceLimit(60.0, 1800.0),
    PhaseGroup.AFTER: SilenceLimit(60.0, math.inf),
    PhaseGroup.EXIT: SilenceLimit(_EXIT_FLOOR_S, 120.0),
}
_COMPILING = SilenceLimit(180.0, 3600.0, why="the Python stack shows that it compiles")
_IMPORTING = SilenceLimit(120.0, 1800.0, why="the Python stack shows that it imports")
_FREEING = SilenceLimit(90.0, 900.0, why="tf.data takes a finished iterator apart, which may take a minute")
_STARTING_WITHOUT_STACK_S = 60.0  # where the stack could not be read, compiling cannot be ruled out

_PHASE_GROUPS = {
    Phase.START: PhaseGroup.START,
    Phase.IMPORT: PhaseGroup.IMPORT,
    Phase.BUILD: PhaseGroup.BUILD,
    Phase.COMPILE: PhaseGroup.STARTING,
    Phase.FILL: PhaseGroup.STARTING,
    Phase.DATA_WAIT: PhaseGroup.STEP,
    Phase.STEP: PhaseGroup.STEP,
    Phase.BETWEEN: PhaseGroup.STEP,
    Phase.CALLBACK: PhaseGroup.CALLBACK,
    Phase.SAVE: PhaseGroup.SAVE,
    Phase.AFTER: PhaseGroup.AFTER,
    Phase.EXIT: PhaseGroup.EXIT,
}


def phase_group_of(beat: Beat | None) -> PhaseGroup:
    """Inside `fit` on TensorFlow the first batch of an epoch is fetched within the step: it may be filling.

    A loop of the script's own may evaluate, save or draw pictures between two batches, and no beat tells.
    """
    if beat is None:
        return PhaseGroup.NONE
    if beat.phase in (Phase.VALIDATION, Phase.PREDICT):
        return PhaseGroup.VALIDATION if beat.test_batches else PhaseGroup.VALIDATION_START
    if beat.fit == 0 and beat.phase is Phase.BETWEEN:
        return PhaseGroup.LOOP
    stage = _PHASE_GROUPS[beat.phase]
    if stage is PhaseGroup.STEP and beat.train_batches == 0:
        return PhaseGroup.STARTING
    return PhaseGroup.LOOP_STEP if beat.fit == 0 and beat.phase is Phase.STEP else stage


@dataclass(frozen=True, slots=True)
class RunDurations:
    """What the run has taken so far."""

    longest_s: dict[PhaseGroup, float]
    steps: int = 0  # normal steps that were timed
    longest_step_s: float = 0.0
    median_step_s: float = 0.0
    longest_compile_s: float = 0.0
    paused_s: dict[PhaseGroup, float] = field(
        default_factory=dict
    )  # stalls that ended by themselves: nothing stirred
    worked_s: dict[PhaseGroup, float] = field(
        default_factory=dict
    )  # and those in which it worked all the time

    def longest_pause_s(self, stage: PhaseGroup) -> float:
        """Steps and what lies between them share theirs."""
        return max(self.paused_s.get(one, 0.0) for one in (_STEPPING if stage in _STEPPING else (stage,)))


_STEPPING = frozenset({PhaseGroup.STEP, PhaseGroup.LOOP_STEP, PhaseGroup.LOOP})


def limit_of(
    stage: PhaseGroup,
    taken: RunDurations,
    *,
    doing: StackActivity = StackActivity.UNKNOWN,
    by_hand_s: float | None = None,
) -> SilenceLimit:
    """The limit of silence for a stage now."""
    if by_hand_s is not None:
        return _configured_limit(stage, by_hand_s)
    if doing is StackActivity.COMPILING:
        return _COMPILING
    if doing is StackActivity.IMPORTING:
        return _IMPORTING
    if doing is StackActivity.FREEING:
        return _FREEING
    if stage in _STEPPING and taken.steps >= 3:
        step = _step_limit(taken)
        return (
            replace(step, busy_s=max(step.busy_s, _INITIAL_LIMITS[stage].busy_s))
            if stage is not PhaseGroup.STEP
            else step
        )
    first = _INITIAL_LIMITS[stage]
    if stage is PhaseGroup.STARTING and doing is StackActivity.UNKNOWN:
        first = replace(first, idle_s=_STARTING_WITHOUT_STACK_S, flat_s=600.0)
    return _learned_limit(first, stage, taken)


def _step_limit(taken: RunDurations) -> SilenceLimit:
    """Three times the longest normal step, but for the second that noticing takes.

    Few steps say little about how much steps vary, so that until thirty are known twelve medians are allowed
    too. A step of another shape is compiled anew, so a busy one may take as long as the first compilation.
    A stall that ended by itself was none: it may come back, at every shard or every hour.
    """
    idle_s = max(LIMIT_FLOOR_S, LIMIT_FACTOR * taken.longest_step_s - 1.0)
    longest = f"three times the longest normal step of {taken.longest_step_s:.3g} s"
    why = (
        f"{longest}, at least {LIMIT_FLOOR_S:g} s"
        if idle_s == LIMIT_FLOOR_S
        else f"{longest}, less a second to notice"
    )
    paused_s, worked_s = taken.longest_pause_s(PhaseGroup.STEP), max(taken.worked_s.values(), default=0.0)
    if LIMIT_FACTOR * paused_s > idle_s:
        idle_s = LIMIT_FACTOR * paused_s
        why = f"three times the longest pause that ended by itself, {paused_s:.3g} s"
    if taken.steps < 30 and 12 * taken.median_step_s > idle_s:
        idle_s = 12 * taken.median_step_s
        why = f"twelve times the median of the first {taken.steps} steps, {taken.median_step_s:.3g} s"
    return SilenceLimit(
        idle_s, max(20.0, 2 * idle_s, 1.5 * taken.longest_compile_s, LIMIT_FACTOR * worked_s), why=why
    )


def _learned_limit(first: SilenceLimit, stage: PhaseGroup, taken: RunDurations) -> SilenceLimit:
    """Three times what the stage has taken before, where that is more."""
    before_s = max(taken.longest_s.get(stage, 0.0), taken.longest_pause_s(stage))
    if stage is PhaseGroup.VALIDATION:
        before_s = max(before_s, taken.longest_step_s)
    if stage in (
        PhaseGroup.STEP,
        PhaseGroup.LOOP_STEP,
    ):  # before steps are known: the first one, which compiled as well
        before_s = max(before_s, taken.longest_compile_s)
    grown_s = LIMIT_FACTOR * before_s
    if grown_s <= first.idle_s:
        return first
    return SilenceLimit(
        idle_s=grown_s,
        busy_s=max(first.busy_s, 2 * grown_s),
        flat_s=max(first.flat_s, grown_s),
        why=f"three times the longest such silence so far, {before_s:.3g} s",
    )


def _configured_limit(stage: PhaseGroup, by_hand_s: float) -> SilenceLimit:
    """As asked for; work that is no step keeps its own limit, and the end of the interpreter its least."""
    why = "--stall-after"
    if stage is PhaseGroup.EXIT:
        return SilenceLimit(max(by_hand_s, _EXIT_FLOOR_S), max(by_hand_s, 120.0), why=why)
    if stage in (PhaseGroup.STEP, PhaseGroup.LOOP_STEP, PhaseGroup.VALIDATION):
        return SilenceLimit(by_hand_s, by_hand_s, why=why)
    first = _INITIAL_LIMITS[stage]
    return SilenceLimit(by_hand_s, max(by_hand_s, first.busy_s), max(by_hand_s, min(first.flat_s, 60.0)), why)
