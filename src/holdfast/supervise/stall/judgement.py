"""Judges whether a run is stalled. Pure: what was seen and the clock come in, a judgement goes out."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field, replace

from holdfast.journal.beats import Beat, Phase
from holdfast.supervise.stall.activity import EndedStall, LastActivity
from holdfast.supervise.stall.gpu_wait import NOWHERE, SamePoint, gpu_limit_s, waits_for_gpu
from holdfast.supervise.stall.phase_limits import (
    INITIAL,
    LIMIT_FACTOR,
    LIMIT_FLOOR_S,
    LimitBasis,
    LimitReason,
    PhaseGroup,
    RunDurations,
    SilenceLimit,
    StackActivity,
    group_of_phase,
    limit_of,
    phase_group_of,
)
from holdfast.supervise.stall.wait_kinds import NOT_READ, TreeWait, Wait

_SUSPICIOUS_S = 6.0
_SUSPENDED_S = 1.0  # a debugger or a shell may stop a process for a moment


@dataclass(frozen=True, slots=True)
class CloserLook:
    """What a closer look found. It is taken only when something looks wrong, because it pauses the process."""

    activity: StackActivity = StackActivity.UNKNOWN
    phase: Phase | None = None  # by the stacks; heartbeats know better where there are any
    reads_terminal: bool = False  # a thread waits for somebody to type
    all_locked: bool = False  # every thread waits for another one, without a timeout
    python_locked: bool = False  # every Python thread does, and no other process or connection can wake one
    stack: tuple[str, ...] = ()  # of the main thread: file, line and function of each frame
    same_stack: bool = False  # as at the look before
    blocked_on_fifo: bool = False  # a thread waits to open a FIFO that nobody has opened to write
    locked_out: bool = False  # it waits for a file that an idle process outside has locked
    downloads: bool = False  # it waits, without a time limit, for bytes of an answer over HTTP
    sleeps_until: float | None = None  # the main thread is in a long sleep that has an end
    tree: TreeWait = NOT_READ  # what the whole tree waits for
    ran_at: float | None = None  # when one of its waiting threads last ran by itself
    stacks_read_at: float | None = None
    helpers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class StallInputs:
    """Everything that the judgement depends on, at one moment."""

    now: float
    beat: Beat | None
    suspended_for_s: float | None
    last_activity: LastActivity
    memory_flat: bool
    durations: RunDurations
    closer_look: CloserLook = CloserLook()
    configured_s: float | None = None
    filtered_elements: int = 0  # that a filter of the dataset was given since it last let one through
    filtered_rounds: int = 0  # times that all of its data went through it meanwhile
    made_progress: bool = False  # it has printed a step or an epoch
    same_point: SamePoint = NOWHERE  # that the thread which trains was last seen to stay at
    cpu_contention: float = 1.0  # runnable processes per core: work takes that many times as long


class StallKind(enum.Enum):
    IDLE = enum.auto()  # nothing moves
    BUSY = enum.auto()  # it works, and no beat comes
    BUSY_FLAT = enum.auto()  # it works, no beat comes, and memory does not grow
    FILTERING = enum.auto()  # a filter of the dataset lets nothing through
    ON_GPU = enum.auto()  # the GPU works, and the step that the training waits for does not end
    SUSPENDED = enum.auto()  # somebody stopped the process
    ENDLESS_VALIDATION = enum.auto()  # batches of validation come, without an end


@dataclass(frozen=True, slots=True)
class StallJudgement:
    kind: StallKind | None  # None: not stalled
    suspicious: bool
    phase_group: PhaseGroup
    silent_for_s: float
    limit_s: float
    basis: LimitBasis = INITIAL
    ages_s: dict[str, float] = field(default_factory=dict)  # since each sign of activity
    filtered_elements: int = 0

    @property
    def stalled(self) -> bool:
        return self.kind is not None

    @property
    def busy(self) -> bool:
        """It works all the time, and no beat comes."""
        return self.kind in (StallKind.BUSY, StallKind.BUSY_FLAT, StallKind.FILTERING, StallKind.ON_GPU)


def judge(inputs: StallInputs) -> StallJudgement:
    """Stalled when nothing has happened for the phase's idle limit, or no beat came for its busy limit."""
    group = (
        phase_group_of(inputs.beat) if inputs.beat is not None else group_of_phase(inputs.closer_look.phase)
    )
    limit = _limit(inputs, group)
    silent_for_s, idle_for_s = silent_for(inputs), _idle_for(inputs, group)
    ages_s = _ages(inputs)
    if is_suspended(inputs):
        return StallJudgement(
            StallKind.SUSPENDED, True, group, inputs.suspended_for_s or 0.0, 0.0, ages_s=ages_s
        )
    exceeded = _exceeded(inputs, group, limit, silent_for_s=silent_for_s, idle_for_s=idle_for_s)
    if exceeded is not None:
        kind, for_s, limit_s = exceeded
        return StallJudgement(
            kind, True, group, for_s, limit_s, limit.basis, ages_s, inputs.filtered_elements
        )
    suspicious = idle_for_s > min(_SUSPICIOUS_S, 0.7 * limit.idle_s) or silent_for_s > 0.8 * min(
        limit.busy_s, limit.busy_flat_s, _FLAT_LOOK_S
    )
    return StallJudgement(None, suspicious, group, silent_for_s, limit.idle_s, limit.basis, ages_s)


def _exceeded(
    inputs: StallInputs, group: PhaseGroup, limit: SilenceLimit, *, silent_for_s: float, idle_for_s: float
) -> tuple[StallKind, float, float] | None:
    """Which limit is exceeded, by how long a silence, and the limit in seconds."""
    if idle_for_s > limit.idle_s and not _sleeps(inputs, group):
        return StallKind.IDLE, max(idle_for_s, silent_for_s), limit.idle_s
    last = inputs.last_activity
    wants_cpu = inputs.now - max(last.busy, last.runnable) < _WANTS_CPU_S
    contention = inputs.cpu_contention if wants_cpu else 1.0
    busy_s, busy_flat_s = contention * limit.busy_s, contention * limit.busy_flat_s
    if on_gpu(inputs):
        gpu_s = gpu_limit_s(inputs.durations, inputs.configured_s)
        if silent_for_s > gpu_s:
            return StallKind.ON_GPU, silent_for_s, gpu_s
    if silent_for_s > busy_s:
        return StallKind.BUSY, silent_for_s, busy_s
    if inputs.memory_flat and silent_for_s > busy_flat_s:
        return StallKind.BUSY_FLAT, silent_for_s, busy_flat_s
    all_again = inputs.filtered_rounds >= _FILTERED_ROUNDS and inputs.filtered_elements >= _FILTERED_IN_ROUNDS
    if inputs.filtered_elements >= _FILTERED_ELEMENTS or all_again:
        filter_s = _filter_limit(inputs, group)
        if silent_for_s > filter_s:
            return StallKind.FILTERING, silent_for_s, filter_s
    return None


def on_gpu(inputs: StallInputs) -> bool:
    """The training waits for one call on a GPU, however long that may take."""
    return waits_for_gpu(
        inputs.same_point,
        inputs.beat,
        phase_group_of(inputs.beat),
        steps_known=inputs.durations.steps,
        last_activity=inputs.last_activity,
        now=inputs.now,
    )


def is_suspended(inputs: StallInputs) -> bool:
    return inputs.suspended_for_s is not None and inputs.suspended_for_s >= _SUSPENDED_S


#: In these a little activity is not enough: batches are due.
_STRICT = frozenset({PhaseGroup.STEP, PhaseGroup.LOOP_STEP, PhaseGroup.VALIDATION})
#: Without work for so long, it does not wait for a CPU: a dashboard in a thread of its own uses little of one.
_WANTS_CPU_S = 15.0
_FLAT_LOOK_S = 35.0  # before the limit of a busy first batch can be judged, the stack must be read
#: Elements in a row that a filter drops; one that lets through one in 60,000 is slow, but it works.
_FILTERED_ELEMENTS = 200_000
#: Fewer where they are the same data again: what was dropped so often is dropped the next time, unless chance decides.
_FILTERED_ROUNDS, _FILTERED_IN_ROUNDS = 50, 20_000
#: In these a process may wait for a person or a file as long as it likes, as far as we know.
_BEFORE_TRAINING = frozenset({PhaseGroup.NONE, PhaseGroup.START})
#: Half a minute is promised; a tick a second and two closer looks, fifteen seconds apart, need the rest.
_OPEN_ENDED_S = 24.0
#: A server that works on its answer takes seconds; one that has begun to send does not pause for so long.
_NO_BYTES_S = 20.0
#: A quarter of a minute is promised; a tick a second and a closer look need the rest.
_PYTHON_LOCKED_S = 11.5
#: An evaluator sleeps between two looks for a new checkpoint, for an hour if need be.
_SLEEPS_S = 3600.0
_TIMED_MARGIN_S = 15.0


#: Between the steps of a loop of its own, and where nothing trains, a script may sleep: an evaluation that waits for
#: the next checkpoint does so for minutes.
_MAY_SLEEP = frozenset({PhaseGroup.BUILD, PhaseGroup.LOOP, PhaseGroup.AFTER})
_LONGEST_SLEEP_S = 1800.0  # chosen: above what programs wait between two evaluations (5 to 10 minutes)


def _sleeps(inputs: StallInputs, group: PhaseGroup) -> bool:
    """The main thread is in a sleep that will end, and where it may sleep. A limit that the user set holds anyway."""
    until = inputs.closer_look.sleeps_until
    if until is None or group not in _MAY_SLEEP or inputs.configured_s is not None:
        return False
    return inputs.now < until + LIMIT_FLOOR_S and until - inputs.now < _LONGEST_SLEEP_S


#: In these a script may ask again and again whether something has happened: a rendezvous, a lock, a file.
_MAY_POLL = frozenset({PhaseGroup.BUILD, PhaseGroup.LOOP, PhaseGroup.AFTER, PhaseGroup.CALLBACK})


def _idle_for(inputs: StallInputs, group: PhaseGroup) -> float:
    last = inputs.last_activity
    if inputs.beat is not None and inputs.closer_look.same_stack and group in _MAY_POLL:
        return inputs.now - max(last.beat, last.busy)  # a little work in the same place is a poll
    strict = group in _STRICT and inputs.beat is not None
    woken = inputs.closer_look.ran_at if inputs.beat is None else None  # bytes came, too few to be counted
    return inputs.now - max(last.beat, last.working if strict else _last_of_any(last), woken or 0.0)


def _filter_limit(inputs: StallInputs, group: PhaseGroup) -> float:
    """Ten seconds, or three times what a batch took before; CPU contention does not matter, elements are counted."""
    if inputs.configured_s is not None:
        return inputs.configured_s
    durations = inputs.durations
    # Before the first steps the longest time is that of a compilation.
    before_s = durations.longest_s.get(group, 0.0) if durations.steps else 0.0
    return max(LIMIT_FLOOR_S, LIMIT_FACTOR * max(before_s, durations.longest_step_s))


def _limit(inputs: StallInputs, group: PhaseGroup) -> SilenceLimit:
    look = inputs.closer_look
    limit = limit_of(group, inputs.durations, activity=look.activity, configured_s=inputs.configured_s)
    if inputs.beat is None and inputs.configured_s is None:
        limit = _limit_from_outside(limit, look.tree, made_progress=inputs.made_progress)
    if group is PhaseGroup.EXIT or limit.idle_s <= LIMIT_FLOOR_S:
        return limit
    if look.all_locked:
        # Another process woke it after earlier pauses, and may again.
        idle_s = max(LIMIT_FLOOR_S, LIMIT_FACTOR * inputs.durations.longest_pause_s(group))
        return replace(limit, idle_s=idle_s, basis=LimitBasis(LimitReason.ALL_LOCKED))
    if look.python_locked and limit.idle_s > _PYTHON_LOCKED_S:
        idle_s = max(_PYTHON_LOCKED_S, LIMIT_FACTOR * inputs.durations.longest_pause_s(group))
        return replace(limit, idle_s=min(limit.idle_s, idle_s), basis=LimitBasis(LimitReason.PYTHON_LOCKED))
    if look.locked_out and limit.idle_s > _PYTHON_LOCKED_S:
        return replace(limit, idle_s=_PYTHON_LOCKED_S, basis=LimitBasis(LimitReason.LOCKED_OUT))
    if look.downloads and limit.idle_s > _NO_BYTES_S:
        idle_s = max(_NO_BYTES_S, LIMIT_FACTOR * inputs.durations.longest_pause_s(group))
        return replace(limit, idle_s=min(limit.idle_s, idle_s), basis=LimitBasis(LimitReason.NO_BYTES))
    if look.blocked_on_fifo and group not in _BEFORE_TRAINING:
        return replace(limit, idle_s=LIMIT_FLOOR_S, basis=LimitBasis(LimitReason.BLOCKED_ON_FIFO))
    if look.reads_terminal and group not in _BEFORE_TRAINING:
        return replace(limit, idle_s=LIMIT_FLOOR_S, basis=LimitBasis(LimitReason.READS_TERMINAL))
    return limit


def _limit_from_outside(limit: SilenceLimit, tree: TreeWait, *, made_progress: bool) -> SilenceLimit:
    """Without heartbeats: by what the process waits for, and whether that has an end."""
    match tree.wait:
        case Wait.OPEN_ENDED:
            return replace(
                limit, idle_s=min(limit.idle_s, _OPEN_ENDED_S), basis=LimitBasis(LimitReason.OPEN_ENDED)
            )
        case Wait.SLEEP:
            idle_s = max(limit.idle_s, _SLEEPS_S, LIMIT_FACTOR * (tree.time_limit_s or 0.0))
            return replace(limit, idle_s=idle_s, basis=LimitBasis(LimitReason.SLEEPS))
        case Wait.CLIENT if not made_progress:
            return replace(limit, idle_s=math.inf, basis=LimitBasis(LimitReason.SERVES))
        case Wait.TIMED if tree.time_limit_s is not None:
            idle_s = max(limit.idle_s, tree.time_limit_s + _TIMED_MARGIN_S)
            return replace(limit, idle_s=idle_s)
        case _:
            return limit


def silent_for(inputs: StallInputs) -> float:
    """Since the last beat; without beats, since any activity."""
    last = inputs.last_activity
    return inputs.now - (last.beat if inputs.beat is not None else _last_of_any(last))


def ended_stall(stalled_at: StallInputs, judgement: StallJudgement, latest: StallInputs) -> EndedStall | None:
    """What a stall that is over was, by the last tick at which it was still stalled.

    None where something outside the run was the reason: a suspension, a question to the user, a FIFO without a writer.
    """
    look = stalled_at.closer_look
    if is_suspended(stalled_at) or look.reads_terminal or look.blocked_on_fifo:
        return None
    return EndedStall(judgement.phase_group, silent_for(latest), judgement.busy)


def has_recovered(
    stalled_at: StallInputs, inputs: StallInputs, *, disturbed_until: float = -math.inf
) -> bool:
    """Whether a stall that was announced is over. What moved while we read stacks may be our own doing."""
    if is_suspended(stalled_at):
        return inputs.suspended_for_s is None
    before, after = stalled_at.beat, inputs.beat
    if after is not None:
        return before is None or after.sequence != before.sequence
    return _last_of_any(inputs.last_activity) > max(stalled_at.now + 1.0, disturbed_until)


def _last_of_any(last: LastActivity) -> float:
    return max(last.output, last.read, last.written, last.cpu, last.memory)


def _ages(inputs: StallInputs) -> dict[str, float]:
    now, last = inputs.now, inputs.last_activity
    ages_s = {
        "output_s": now - last.output,
        "read_s": now - last.read,
        "written_s": now - last.written,
        "cpu_s": now - last.cpu,
        "memory_s": now - last.memory,
        "working_s": now - last.working,
    }
    if inputs.beat is not None:
        ages_s["beat_s"] = now - last.beat
    return {name: round(age_s, 1) for name, age_s in ages_s.items()}
