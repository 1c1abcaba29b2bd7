"""How long each phase may be silent: from what the phase has taken so far, with generous first limits.

Two limits a phase. `idle_s` applies when nothing at all happens: no beat, no CPU time, no bytes, no output. `busy_s`
applies when no beat comes but the processes work: compiling, filling buffers and the user's own code may work for
long. A training step may not, since a filter that never passes keeps all cores busy forever.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field, replace

from holdfast.journal.beats import Beat, Phase

#: Ten seconds are promised; a tick a second and a closer look need the rest.
LIMIT_FLOOR_S = 8.5
LIMIT_FACTOR = 3.0  # times the longest normal step
_EXIT_FLOOR_S = 15.0  # TensorFlow's threads take up to ten seconds to end on a loaded machine
_MANY_STEPS = 30  # from which the longest normal step is known well enough
_MEDIANS = 12


class PhaseGroup(enum.Enum):
    """Phases that share a limit."""

    NONE = "no framework seen"
    START = "the start"
    IMPORT = "importing"
    BUILD = "the script's own set-up"
    STARTING = "the first batch of an epoch"  # compiling, filling buffers, opening files: alike from outside
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
    """What the Python stack shows, where it could be read. The value is written to the journal."""

    UNKNOWN = "unknown"
    COMPILING = "compiling"
    IMPORTING = "importing"
    FREEING = "freeing"  # the main thread is in code that never waits: a native destructor runs below it
    EXECUTING = "executing"


class LimitReason(enum.Enum):
    """Where a limit comes from; `stall/stall_text.py` has the sentences."""

    INITIAL = enum.auto()
    CONFIGURED = enum.auto()
    COMPILING = enum.auto()
    IMPORTING = enum.auto()
    FREEING = enum.auto()
    LONGEST_STEP = enum.auto()
    SHORT_STEPS = enum.auto()
    LONGEST_PAUSE = enum.auto()
    MEDIAN_STEP = enum.auto()
    LONGEST_SILENCE = enum.auto()
    ALL_LOCKED = enum.auto()
    PYTHON_LOCKED = enum.auto()
    BLOCKED_ON_FIFO = enum.auto()
    LOCKED_OUT = enum.auto()
    NO_BYTES = enum.auto()
    READS_TERMINAL = enum.auto()
    OPEN_ENDED = enum.auto()
    SLEEPS = enum.auto()
    SERVES = enum.auto()


@dataclass(frozen=True, slots=True)
class LimitBasis:
    """Why a limit is what it is, with the measurement that it was computed from."""

    reason: LimitReason = LimitReason.INITIAL
    measured_s: float = 0.0
    steps: int = 0


INITIAL = LimitBasis()


@dataclass(frozen=True, slots=True)
class SilenceLimit:
    idle_s: float
    busy_s: float
    busy_flat_s: float = math.inf  # busy, but neither memory nor output moves
    basis: LimitBasis = INITIAL


_INITIAL_LIMITS = {
    PhaseGroup.NONE: SilenceLimit(60.0, math.inf),
    PhaseGroup.START: SilenceLimit(60.0, math.inf),
    PhaseGroup.IMPORT: SilenceLimit(60.0, 900.0),
    PhaseGroup.BUILD: SilenceLimit(60.0, math.inf),
    PhaseGroup.STARTING: SilenceLimit(20.0, 1800.0, busy_flat_s=45.0),
    PhaseGroup.STEP: SilenceLimit(30.0, 120.0),
    PhaseGroup.LOOP_STEP: SilenceLimit(30.0, 600.0),
    PhaseGroup.LOOP: SilenceLimit(60.0, math.inf),
    PhaseGroup.VALIDATION_START: SilenceLimit(45.0, 900.0, busy_flat_s=90.0),
    PhaseGroup.VALIDATION: SilenceLimit(30.0, 120.0),
    PhaseGroup.CALLBACK: SilenceLimit(30.0, 900.0),
    PhaseGroup.SAVE: SilenceLimit(60.0, 1800.0),
    PhaseGroup.AFTER: SilenceLimit(60.0, math.inf),
    PhaseGroup.EXIT: SilenceLimit(_EXIT_FLOOR_S, 120.0),
}
_BY_ACTIVITY = {
    StackActivity.COMPILING: SilenceLimit(180.0, 3600.0, basis=LimitBasis(LimitReason.COMPILING)),
    StackActivity.IMPORTING: SilenceLimit(120.0, 1800.0, basis=LimitBasis(LimitReason.IMPORTING)),
    StackActivity.FREEING: SilenceLimit(90.0, 900.0, basis=LimitBasis(LimitReason.FREEING)),
}
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
    """Inside `fit` on TensorFlow the first batch of an epoch is fetched within the step: it may be filling buffers.

    The script's own loop may evaluate, save or plot between two batches, and no beat says so.
    """
    if beat is None:
        return PhaseGroup.NONE
    if beat.phase in (Phase.VALIDATION, Phase.PREDICT):
        return PhaseGroup.VALIDATION if beat.test_batches else PhaseGroup.VALIDATION_START
    if beat.fit == 0 and beat.phase is Phase.BETWEEN:
        return PhaseGroup.LOOP
    group = _PHASE_GROUPS[beat.phase]
    if group is PhaseGroup.STEP and beat.train_batches == 0:
        return PhaseGroup.STARTING
    return PhaseGroup.LOOP_STEP if beat.fit == 0 and beat.phase is Phase.STEP else group


def group_of_phase(phase: Phase | None) -> PhaseGroup:
    """Of a process without heartbeats, by the phase that its stacks show."""
    if phase is None:
        return PhaseGroup.NONE
    return PhaseGroup.VALIDATION if phase in (Phase.VALIDATION, Phase.PREDICT) else _PHASE_GROUPS[phase]


@dataclass(frozen=True, slots=True)
class RunDurations:
    """How long things have taken in this run."""

    longest_s: dict[PhaseGroup, float]
    steps: int = 0  # normal steps that were timed
    longest_step_s: float = 0.0
    median_step_s: float = 0.0
    longest_compile_s: float = 0.0
    stepping_for_s: float = 0.0  # from the first step to the newest one
    mean_step_s: float = 0.0  # over that time, with all that is between steps
    # The longest stalls that ended by themselves, idle or busy all the time.
    idle_pause_s: dict[PhaseGroup, float] = field(default_factory=dict)
    busy_pause_s: dict[PhaseGroup, float] = field(default_factory=dict)

    def longest_pause_s(self, group: PhaseGroup) -> float:
        """Steps and the loop between them share one value."""
        groups = STEPPING if group in STEPPING else (group,)
        return max(self.idle_pause_s.get(member, 0.0) for member in groups)


STEPPING = frozenset({PhaseGroup.STEP, PhaseGroup.LOOP_STEP, PhaseGroup.LOOP})


def limit_of(
    group: PhaseGroup,
    durations: RunDurations,
    *,
    activity: StackActivity = StackActivity.UNKNOWN,
    configured_s: float | None = None,
) -> SilenceLimit:
    """The limit of silence for a group of phases now."""
    if configured_s is not None:
        return _configured_limit(group, configured_s)
    if activity in _BY_ACTIVITY:
        return _BY_ACTIVITY[activity]
    initial = _INITIAL_LIMITS[group]
    if group in STEPPING and durations.steps >= 3:
        step = _step_limit(durations)
        return step if group is PhaseGroup.STEP else replace(step, busy_s=max(step.busy_s, initial.busy_s))
    if group is PhaseGroup.STARTING and activity is StackActivity.UNKNOWN:
        initial = replace(initial, idle_s=_STARTING_WITHOUT_STACK_S, busy_flat_s=600.0)
    return _learned_limit(initial, group, durations)


def _step_limit(durations: RunDurations) -> SilenceLimit:
    """Three times the longest normal step, less the second that noticing takes.

    A few steps say little about how much steps vary, so until thirty are known twelve medians are allowed too. A step
    of another shape is compiled again, so a busy one may take as long as the first compilation. A stall that ended by
    itself was none: it may come back, at every shard or every hour.
    """
    longest_s = durations.longest_step_s
    idle_s = max(LIMIT_FLOOR_S, LIMIT_FACTOR * longest_s - 1.0)
    at_floor = idle_s == LIMIT_FLOOR_S
    basis = LimitBasis(LimitReason.SHORT_STEPS if at_floor else LimitReason.LONGEST_STEP, longest_s)
    pause_s = durations.longest_pause_s(PhaseGroup.STEP)
    busy_pause_s = max(durations.busy_pause_s.values(), default=0.0)
    if LIMIT_FACTOR * pause_s > idle_s:
        idle_s = LIMIT_FACTOR * pause_s
        basis = LimitBasis(LimitReason.LONGEST_PAUSE, pause_s)
    if durations.steps < _MANY_STEPS and _MEDIANS * durations.median_step_s > idle_s:
        idle_s = _MEDIANS * durations.median_step_s
        basis = LimitBasis(LimitReason.MEDIAN_STEP, durations.median_step_s, durations.steps)
    busy_s = max(20.0, 2 * idle_s, 1.5 * durations.longest_compile_s, LIMIT_FACTOR * busy_pause_s)
    return SilenceLimit(idle_s, busy_s, basis=basis)


def _learned_limit(initial: SilenceLimit, group: PhaseGroup, durations: RunDurations) -> SilenceLimit:
    """Three times what the phase has taken before, where that is more."""
    before_s = max(durations.longest_s.get(group, 0.0), durations.longest_pause_s(group))
    if group is PhaseGroup.VALIDATION:
        before_s = max(before_s, durations.longest_step_s)
    if group in (PhaseGroup.STEP, PhaseGroup.LOOP_STEP):
        # Before steps are known: the first one compiled as well.
        before_s = max(before_s, durations.longest_compile_s)
    grown_s = LIMIT_FACTOR * before_s
    if grown_s <= initial.idle_s:
        return initial
    return SilenceLimit(
        idle_s=grown_s,
        busy_s=max(initial.busy_s, 2 * grown_s),
        busy_flat_s=max(initial.busy_flat_s, grown_s),
        basis=LimitBasis(LimitReason.LONGEST_SILENCE, before_s),
    )


def _configured_limit(group: PhaseGroup, configured_s: float) -> SilenceLimit:
    """As configured. Work outside of steps keeps its own limit, and the end of the interpreter its minimum."""
    basis = LimitBasis(LimitReason.CONFIGURED)
    if group is PhaseGroup.EXIT:
        return SilenceLimit(max(configured_s, _EXIT_FLOOR_S), max(configured_s, 120.0), basis=basis)
    if group in (PhaseGroup.STEP, PhaseGroup.LOOP_STEP, PhaseGroup.VALIDATION):
        return SilenceLimit(configured_s, configured_s, basis=basis)
    initial = _INITIAL_LIMITS[group]
    busy_flat_s = max(configured_s, min(initial.busy_flat_s, 60.0))
    return SilenceLimit(configured_s, max(configured_s, initial.busy_s), busy_flat_s, basis)
