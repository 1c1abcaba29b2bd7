"""One view of a group of processes: who is missing, silent, suspended, slow, apart, and whom the others wait for.

Pure: what was seen and the clock come in, remarks go out. Times are of the coordinator's own clock, since clocks of
hosts differ.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.journal.events import GroupRemark, RemarkKind
from holdfast.journal.step_timing import COLLECTIVE

MISSING_AFTER_S = 5.0  # a process that has not joined is named
SILENT_S = (
    8.0  # a supervisor reports twice a second; so long without a word is a host or a link that has gone
)
STALL_FLOOR_S = 8.0
STALL_STEPS = 10.0  # times a usual step
SLOW_PHASES = frozenset(
    {"build", "compile", "fill", "validation", "save", "after", "exit", "callback", "start"}
)
SLOW_PHASE_S = 300.0
FIRST_STEP_S = 1200.0  # before the first step: a large dataset may be copied or listed then
STRAGGLER_FACTOR = 1.5  # times what the others take
STRAGGLER_MIN_S = 0.01  # at least, a step
STRAGGLER_WINDOWS = 3  # in a row, before a straggler is named
OUT_OF_STEP_STEPS, OUT_OF_STEP_S = 2, 3.0
LINK_S = 0.05  # a message there and back; hosts of one network take less than a millisecond
LINK_TIMES = 10.0
ROUND_TRIPS = 5
EXCHANGE_S = 0.1  # at least, a step


@dataclass(frozen=True, slots=True)
class StepRate:
    """What a step took lately."""

    own_s: float
    data_s: float
    step_s: float
    together_s: float = 0.0  # waiting for the others, and exchanging with them

    @property
    def alone_s(self) -> float:
        return self.own_s + self.data_s


@dataclass(slots=True)
class ProcessStatus:
    """A process as last heard of."""

    rank: int
    host: str
    heard_at: float
    pid: int = 0
    step: int = 0
    phase: str = ""
    state: str = ""  # as /proc has it
    pace: int = 0  # ELSEWHERE, OWN or TOGETHER
    moved_at: float = 0.0
    round_trips_s: list[float] = field(default_factory=list)  # the newest, of a message there and back
    rates: list[StepRate] = field(default_factory=list)  # the newest windows, oldest first
    running: bool = False

    @property
    def name(self) -> str:
        return f"process {self.rank} on {self.host}"

    @property
    def round_trip_s(self) -> float | None:
        """The middle of the newest: a link that is too narrow is free between two exchanges."""
        return statistics.median(self.round_trips_s) if len(self.round_trips_s) >= ROUND_TRIPS else None


@dataclass(frozen=True, slots=True)
class GroupProblem:
    kind: RemarkKind
    ranks: tuple[int, ...]
    words: str
    stands: bool = False  # the group does not move because of it
    rank_steps: Mapping[str, int] = field(default_factory=dict)
    lost_s: float | None = None
    busy_with: str = ""
    exchange_s: float | None = None
    round_trip_s: float | None = None

    def event(self) -> GroupRemark:
        return GroupRemark(
            remark=self.kind, ranks=list(self.ranks), text=self.words, rank_steps=dict(self.rank_steps),
            lost_s=self.lost_s, busy_with=self.busy_with, exchange_s=self.exchange_s, round_trip_s=self.round_trip_s,
        )  # fmt: skip


def judge_group(
    seen: Mapping[int, ProcessStatus], *, count: int, began: float, now: float
) -> list[GroupProblem]:
    """What is wrong now, the gravest first."""
    remarks = [_missing(seen, count, began, now), *_silent(seen, now)]
    running = [one for one in seen.values() if one.running and now - one.heard_at <= SILENT_S]
    if len(running) == count:
        remarks += [*_suspended(running, now), _stalled(running, now), _out_of_step(running, now)]
        if len(running) > 1 and all(len(one.rates) >= STRAGGLER_WINDOWS for one in running):
            remarks += [_straggler(running), _exchange(running)]
        remarks.append(_slow_link(running))
    return [one for one in remarks if one is not None]


def _missing(seen: Mapping[int, ProcessStatus], count: int, began: float, now: float) -> GroupProblem | None:
    absent = tuple(rank for rank in range(count) if rank not in seen)
    if not absent or now - began < MISSING_AFTER_S:
        return None
    words = f"{format_ranks(absent)} of {count} not there after {now - began:.0f} s; the others wait"
    return GroupProblem("missing", absent, words)


def _silent(seen: Mapping[int, ProcessStatus], now: float) -> list[GroupProblem]:
    return [
        GroupProblem(
            "silent",
            (one.rank,),
            f"{one.name} has not been heard of for {now - one.heard_at:.0f} s: the host or the network to it has gone",
            stands=True,
        )
        for one in seen.values()
        if now - one.heard_at > SILENT_S
    ]


def _suspended(running: list[ProcessStatus], now: float) -> list[GroupProblem]:
    return [
        GroupProblem("suspended", (one.rank,), f"{one.name} is suspended (state {one.state})", stands=True)
        for one in running
        if one.state == "T" and now - one.moved_at > MISSING_AFTER_S
    ]


def _stalled(running: list[ProcessStatus], now: float) -> GroupProblem | None:
    """Nobody moves, and somebody waits for the others in the joint part of a step."""
    waiting = [one for one in running if one.pace == COLLECTIVE]
    still_s = now - max(one.moved_at for one in running)
    if not waiting and still_s >= FIRST_STEP_S:
        names = ", ".join(sorted({one.phase for one in running}))
        words = f"no process has moved for {still_s / 60:.0f} min (phase {names})"
        return GroupProblem("waited-for", tuple(one.rank for one in running), words, stands=True)
    late = [one for one in running if one not in waiting]
    # Where nobody is late, all may compile their validation after the last step, in which they waited.
    if not waiting or still_s < _limit_s(late or running, running):
        return None
    if not late:
        worst = _slow_link(running)
        where = f"; {worst.words}" if worst else ""
        words = f"all wait for each other since {still_s:.0f} s: the network between them does not carry a step{where}"
        return GroupProblem("network", worst.ranks if worst else (), words, stands=True)
    names = "; ".join(f"{one.name} (step {one.step}, phase {one.phase})" for one in late)
    words = f"all wait since {still_s:.0f} s for {names}"
    return GroupProblem("waited-for", tuple(one.rank for one in late), words, stands=True)


def _limit_s(late: list[ProcessStatus], running: list[ProcessStatus]) -> float:
    if any(one.phase in SLOW_PHASES for one in late):
        return SLOW_PHASE_S
    steps = [one.rates[-1].step_s for one in running if one.rates]
    return max(STALL_FLOOR_S, STALL_STEPS * statistics.median(steps)) if steps else 60.0


def _out_of_step(running: list[ProcessStatus], now: float) -> GroupProblem | None:
    """Only of processes that stand: reports of moving ones are of different instants."""
    if now - max(one.moved_at for one in running) < OUT_OF_STEP_S:
        return None
    steps = {one.rank: one.step for one in running}
    if max(steps.values()) - min(steps.values()) <= OUT_OF_STEP_STEPS:
        return None
    late = min(running, key=lambda one: one.step)
    words = f"{late.name} is at step {late.step}, the furthest at {max(steps.values())}"
    return GroupProblem("apart", (late.rank,), words, rank_steps={str(r): s for r, s in steps.items()})


def _straggler(running: list[ProcessStatus]) -> GroupProblem | None:
    """The one whose own part of a step takes longest, when that is well above the others' several times over."""
    slow = max(running, key=lambda one: one.rates[-1].alone_s)
    behind_s = []
    for window in range(-STRAGGLER_WINDOWS, 0):
        others = statistics.median(one.rates[window].alone_s for one in running if one is not slow)
        taken = slow.rates[window].alone_s
        if taken < STRAGGLER_FACTOR * others or taken - others < STRAGGLER_MIN_S:
            return None
        behind_s.append(taken - others)
    rate, lost_s = slow.rates[-1], statistics.median(behind_s)
    why = "waiting for data" if rate.data_s > rate.own_s else "computing"
    times = rate.alone_s / max(1e-9, rate.alone_s - lost_s)
    words = (
        f"{slow.name} is slow: its own part of a step takes {rate.alone_s:.2f} s, {times:.1f} times that of the "
        f"others; it is {why}, and all lose {lost_s:.2f} s a step"
    )
    return GroupProblem(
        "straggler",
        (slow.rank,),
        words,
        lost_s=round(lost_s, 3),
        busy_with=why,
    )


def _exchange(running: list[ProcessStatus]) -> GroupProblem | None:
    """Who comes last to a meeting does not wait: the shortest time of all is what the exchange itself takes."""
    taken_s = [
        min(one.rates[window].together_s for one in running) for window in range(-STRAGGLER_WINDOWS, 0)
    ]
    alone_s = [max(one.rates[window].alone_s for one in running) for window in range(-STRAGGLER_WINDOWS, 0)]
    if any(taken < max(EXCHANGE_S, alone) for taken, alone in zip(taken_s, alone_s, strict=True)):
        return None
    step_s = statistics.median(one.rates[-1].step_s for one in running)
    exchange_s = statistics.median(taken_s)
    words = (
        f"the exchange of a step takes {exchange_s:.2f} s of its {step_s:.2f} s, in every process, and "
        f"what they compute at most {statistics.median(alone_s):.2f} s: the network between them is the limit"
    )
    worst = _slow_link(running)
    ranks = worst.ranks if worst else tuple(one.rank for one in running)
    words = f"{words}; {worst.words}" if worst else words
    return GroupProblem("exchange", ranks, words, exchange_s=round(exchange_s, 3))


def _slow_link(running: list[ProcessStatus]) -> GroupProblem | None:
    known = [one for one in running if one.round_trip_s is not None]
    if not known:
        return None
    worst = max(known, key=lambda one: one.round_trip_s or 0.0)
    trip_s = worst.round_trip_s or 0.0
    others = [one.round_trip_s or 0.0 for one in known if one is not worst]
    if trip_s < LINK_S or (others and trip_s < LINK_TIMES * statistics.median(others)):
        return None
    words = f"a message to {worst.name} and back takes {trip_s * 1000:.0f} ms"
    if others:
        words += f", to the others {statistics.median(others) * 1000:.1f} ms"
    return GroupProblem("slow-link", (worst.rank,), words, round_trip_s=round(trip_s, 4))


@dataclass(frozen=True, slots=True)
class AgentExit:
    """How a process of the group ended, as its supervisor saw it."""

    rank: int
    host: str
    at: float
    exit_code: int | None
    signal: str | None
    shell_code: int
    by_us: bool = False  # the coordinator had asked for it
    gone: bool = False  # the supervisor itself went without a word
    verdict: Mapping[str, object] = field(default_factory=dict)

    @property
    def words(self) -> str:
        name = f"process {self.rank} on {self.host}"
        if self.gone:
            return f"{name} and its supervisor have gone without a word"
        return (
            f"{name} was ended by {self.signal}"
            if self.signal
            else f"{name} ended with exit code {self.exit_code}"
        )


AGENT_LOST, UNEXPECTED = 75, 70
REQUESTED_EXITS = {143: "SIGTERM", 130: "SIGINT", 129: "SIGHUP"}


def first_failure(endings: list[AgentExit]) -> AgentExit | None:
    """The ending that brought the others about: not one that only lost a peer, and of the rest the first."""
    own = [one for one in endings if not one.by_us and one.shell_code != 0]
    return min(own, key=lambda one: (_is_consequence(one), one.at)) if own else None


def _is_consequence(one: AgentExit) -> int:
    """JAX aborts a process whose peers have gone, and a collective raises in it."""
    if one.exit_code == AGENT_LOST:
        return 3
    if one.signal == "SIGABRT":
        return 2
    return 1 if one.exit_code == UNEXPECTED or one.gone else 0


def format_ranks(ranks: tuple[int, ...]) -> str:
    if len(ranks) == 1:
        return f"process {ranks[0]}"
    shown = ", ".join(str(rank) for rank in ranks[:8]) + (" …" if len(ranks) > 8 else "")
    return f"processes {shown}"
