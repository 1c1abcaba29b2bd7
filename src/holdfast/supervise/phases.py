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
FLOOR_S = 8.5
TIMES = 3.0  # the longest normal step
_EXIT_FLOOR_S = 15.0  # TensorFlow's threads take up to ten seconds to go on a loaded machine


class Stage(enum.Enum):
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


class Doing(enum.Enum):
    """What a look at the Python stack says, where one could be had."""

    UNKNOWN = "unknown"
    COMPILING = "compiling"
    IMPORTING = "importing"
    FREEING = (
        "freeing"  # the main thread stands in code that cannot wait: something native is taken apart below it
    )
    EXECUTING = "executing"


@dataclass(frozen=True, slots=True)
class Limit:
    idle_s: float
    busy_s: float
    flat_s: float = math.inf  # busy, but neither memory nor output moves
    why: str = "the first limit of this phase"


_FIRST = {
    Stage.NONE: Limit(60.0, math.inf),
    Stage.START: Limit(60.0, math.inf),
    Stage.IMPORT: Limit(60.0, 900.0),
    Stage.BUILD: Limit(60.0, math.inf),
    Stage.STARTING: Limit(20.0, 1800.0, flat_s=45.0),
    Stage.STEP: Limit(30.0, 120.0),
    Stage.LOOP_STEP: Limit(30.0, 600.0),
    Stage.LOOP: Limit(60.0, math.inf),
    Stage.VALIDATION_START: Limit(45.0, 900.0, flat_s=90.0),
    Stage.VALIDATION: Limit(30.0, 120.0),
    Stage.CALLBACK: Limit(30.0, 900.0),
    Stage.SAVE: Limit(60.0, 1800.0),
    Stage.AFTER: Limit(60.0, math.inf),
    Stage.EXIT: Limit(_EXIT_FLOOR_S, 120.0),
}
_COMPILING = Limit(180.0, 3600.0, why="the Python stack shows that it compiles")
_IMPORTING = Limit(120.0, 1800.0, why="the Python stack shows that it imports")
_FREEING = Limit(90.0, 900.0, why="tf.data takes a finished iterator apart, which may take a minute")
_BLIND_STARTING_S = 60.0  # where the stack could not be read, compiling cannot be ruled out

_STAGES = {
    Phase.START: Stage.START, Phase.IMPORT: Stage.IMPORT, Phase.BUILD: Stage.BUILD, Phase.COMPILE: Stage.STARTING,
    Phase.FILL: Stage.STARTING, Phase.DATA_WAIT: Stage.STEP, Phase.STEP: Stage.STEP, Phase.BETWEEN: Stage.STEP,
    Phase.CALLBACK: Stage.CALLBACK, Phase.SAVE: Stage.SAVE, Phase.AFTER: Stage.AFTER, Phase.EXIT: Stage.EXIT,
}  # fmt: skip


def stage_of(beat: Beat | None) -> Stage:
    """Inside `fit` on TensorFlow the first batch of an epoch is fetched within the step: it may be filling.

    A loop of the script's own may evaluate, save or draw pictures between two batches, and no beat tells.
    """
    if beat is None:
        return Stage.NONE
    if beat.phase in (Phase.VALIDATION, Phase.PREDICT):
        return Stage.VALIDATION if beat.test_batches else Stage.VALIDATION_START
    if beat.fit == 0 and beat.phase is Phase.BETWEEN:
        return Stage.LOOP
    stage = _STAGES[beat.phase]
    if stage is Stage.STEP and beat.train_batches == 0:
        return Stage.STARTING
    return Stage.LOOP_STEP if beat.fit == 0 and beat.phase is Phase.STEP else stage


@dataclass(frozen=True, slots=True)
class Taken:
    """What the run has taken so far."""

    longest_s: dict[Stage, float]
    steps: int = 0  # normal steps that were timed
    longest_step_s: float = 0.0
    median_step_s: float = 0.0
    longest_compile_s: float = 0.0
    paused_s: dict[Stage, float] = field(
        default_factory=dict
    )  # stalls that ended by themselves: nothing stirred
    worked_s: dict[Stage, float] = field(default_factory=dict)  # and those in which it worked all the time

    def longest_pause_s(self, stage: Stage) -> float:
        """Steps and what lies between them share theirs."""
        return max(self.paused_s.get(one, 0.0) for one in (_STEPPING if stage in _STEPPING else (stage,)))


_STEPPING = frozenset({Stage.STEP, Stage.LOOP_STEP, Stage.LOOP})


def limit_of(
    stage: Stage, taken: Taken, *, doing: Doing = Doing.UNKNOWN, by_hand_s: float | None = None
) -> Limit:
    """The limit of silence for a stage now."""
    if by_hand_s is not None:
        return _by_hand(stage, by_hand_s)
    if doing is Doing.COMPILING:
        return _COMPILING
    if doing is Doing.IMPORTING:
        return _IMPORTING
    if doing is Doing.FREEING:
        return _FREEING
    if stage in _STEPPING and taken.steps >= 3:
        step = _of_step(taken)
        return (
            replace(step, busy_s=max(step.busy_s, _FIRST[stage].busy_s)) if stage is not Stage.STEP else step
        )
    first = _FIRST[stage]
    if stage is Stage.STARTING and doing is Doing.UNKNOWN:
        first = replace(first, idle_s=_BLIND_STARTING_S, flat_s=600.0)
    return _grown(first, stage, taken)


def _of_step(taken: Taken) -> Limit:
    """Three times the longest normal step, but for the second that noticing takes.

    Few steps say little about how much steps vary, so that until thirty are known twelve medians are allowed
    too. A step of another shape is compiled anew, so a busy one may take as long as the first compilation.
    A stall that ended by itself was none: it may come back, at every shard or every hour.
    """
    idle_s = max(FLOOR_S, TIMES * taken.longest_step_s - 1.0)
    longest = f"three times the longest normal step of {taken.longest_step_s:.3g} s"
    why = f"{longest}, at least {FLOOR_S:g} s" if idle_s == FLOOR_S else f"{longest}, less a second to notice"
    paused_s, worked_s = taken.longest_pause_s(Stage.STEP), max(taken.worked_s.values(), default=0.0)
    if TIMES * paused_s > idle_s:
        idle_s = TIMES * paused_s
        why = f"three times the longest pause that ended by itself, {paused_s:.3g} s"
    if taken.steps < 30 and 12 * taken.median_step_s > idle_s:
        idle_s = 12 * taken.median_step_s
        why = f"twelve times the median of the first {taken.steps} steps, {taken.median_step_s:.3g} s"
    return Limit(idle_s, max(20.0, 2 * idle_s, 1.5 * taken.longest_compile_s, TIMES * worked_s), why=why)


def _grown(first: Limit, stage: Stage, taken: Taken) -> Limit:
    """Three times what the stage has taken before, where that is more."""
    before_s = max(taken.longest_s.get(stage, 0.0), taken.longest_pause_s(stage))
    if stage is Stage.VALIDATION:
        before_s = max(before_s, taken.longest_step_s)
    if stage in (
        Stage.STEP,
        Stage.LOOP_STEP,
    ):  # before steps are known: the first one, which compiled as well
        before_s = max(before_s, taken.longest_compile_s)
    grown_s = TIMES * before_s
    if grown_s <= first.idle_s:
        return first
    return Limit(
        idle_s=grown_s,
        busy_s=max(first.busy_s, 2 * grown_s),
        flat_s=max(first.flat_s, grown_s),
        why=f"three times the longest such silence so far, {before_s:.3g} s",
    )


def _by_hand(stage: Stage, by_hand_s: float) -> Limit:
    """As asked for; work that is no step keeps its own limit, and the end of the interpreter its least."""
    why = "--stall-after"
    if stage is Stage.EXIT:
        return Limit(max(by_hand_s, _EXIT_FLOOR_S), max(by_hand_s, 120.0), why=why)
    if stage in (Stage.STEP, Stage.LOOP_STEP, Stage.VALIDATION):
        return Limit(by_hand_s, by_hand_s, why=why)
    first = _FIRST[stage]
    return Limit(by_hand_s, max(by_hand_s, first.busy_s), max(by_hand_s, min(first.flat_s, 60.0)), why)
