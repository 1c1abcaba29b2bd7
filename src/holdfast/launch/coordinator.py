"""The coordinator of a group: hears all supervisors, says start, names who is missing, dead, silent or slow, and
when one falls brings all to an end and starts them again together."""

from __future__ import annotations

import hmac
import math
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.journal import events as ev
from holdfast.journal.events import Event
from holdfast.launch import group_health, messages
from holdfast.launch.connection import MessageConnection, NotAMessage, free_port
from holdfast.launch.connections import Connections
from holdfast.launch.group_health import AgentExit, GroupProblem, ProcessStatus, StepRate
from holdfast.launch.group_table import EVERY_S
from holdfast.launch.messages import Hello, Message, Pong, ProcessEnded, Stacks, Status
from holdfast.shared_limits import GROUP_GRACE_S
from holdfast.supervise import restart_policy
from holdfast.supervise.restart_policy import AttemptFailure, RestartAfter

SETTLE_S = 2.0  # after the first ending, for those that it brings about
STACKS_TIMEOUT_S = 6.0
KILL_TIMEOUT_S = 20.0
WINDOW_STEPS, WINDOW_S = 4, 1.5  # least, for a rate
REPEAT_WARNING_S = 30.0
REJECTIONS_TOLD = 20  # anybody may connect: more of them would fill the journal
LOOK_S = 0.25
#: A thousand processes send two thousand messages a second, and to look at all of them at each would take a whole core.
LOOK_S_A_PROCESS = 2e-4
PING_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """What a group agrees on before it begins."""

    count: int
    token: str
    restarts: int = 3
    on_stall: str = "restart"
    join_s: float = 600.0
    resume: bool = False
    first_attempt: int = 1
    final_codes: frozenset[int] = frozenset({1, 2})
    advertised: str = "127.0.0.1"  # how the others reach this host
    ports: tuple[int, ...] = ()  # for the engine to meet on; any free one when empty


@dataclass(slots=True)
class AgentConnection:
    """The connection of one member and what was heard on it."""

    line: MessageConnection
    seen: ProcessStatus
    last: dict[str, float] = field(default_factory=dict)  # the counters at the begin of the window
    sequence: int = -1
    pinged: float = -math.inf
    unanswered: bool = False  # the last ping
    stacks: Stacks | None = None


class _Rejected(Exception):
    """A hello that is well formed, of somebody who may not join."""


class Coordinator:
    """`respawn` is asked to bring back a member that has gone; it says whether it can."""

    def __init__(
        self,
        terms: GroupConfig,
        server: socket.socket,
        *,
        say: Callable[[str], None],
        note: Callable[[Event], None],
        respawn: Callable[[int], bool] = lambda rank: False,
        show: Callable[[list[ProcessStatus], int], None] | None = None,
        meeting: Callable[[int], str] | None = None,
        noticed: Callable[[], Event | None] = lambda: None,
        gone: Callable[[], bool] = lambda: False,
    ) -> None:
        """`meeting` says where the engine's processes connect in an attempt; `noticed` is asked at every turn for
        what the scheduler of the hosts says, and `gone` whether the absent members have no place to come from."""
        self._meeting, self._noticed, self._gone = meeting, noticed, gone
        self.terms, self._say, self._note, self._respawn = terms, say, note, respawn
        self._connections = Connections(server, agents=terms.count)
        self._show, self._shown_at = show, 0.0
        self._looked_at = -math.inf
        self.seats: dict[int, AgentConnection] = {}
        self._endings: list[AgentExit] = []
        self._asked = ""
        self._asked_by: tuple[int | None, str] = (None, "")  # pid and command line, where they are known
        self._killing = False
        self._standing: list[GroupProblem] = []
        self._said: dict[str, float] = {}
        self._rejected: set[tuple[str, str]] = set()
        self._began = time.monotonic()
        self.blamed: AgentExit | None = None
        self.attempts = 0

    def ask_to_end(self, name: str, from_pid: int | None = None, from_command: str = "") -> None:
        """May come from a signal handler: all are asked at the next turn."""
        if not self._asked:
            self._asked, self._asked_by = name, (from_pid, from_command)

    def run(self) -> int:
        """Until the group has ended for good. Returns the exit code."""
        failures: list[AttemptFailure] = []
        try:
            while True:
                if not self._gather():
                    return 143 if self._asked else 75
                code = self._attempt(self.terms.first_attempt + self.attempts, again=bool(failures))
                failures = since_progress([*failures, self._failure(code)])
                if (
                    code == 0
                    or self._asked
                    or code in (*group_health.REQUESTED_EXITS, *self.terms.final_codes)
                ):
                    return code
                decision = restart_policy.decide(failures, allowed=self.terms.restarts)
                if not isinstance(decision, RestartAfter):
                    words = f"not started again: {decision.why}" if decision.why else "not started again"
                    self._tell(words, ev.GroupNotRestarted(why=decision.why))
                    return code
                words = f"all are started again together in {decision.pause_s:g} s"
                self._tell(words, ev.GroupRestarted(pause_s=decision.pause_s))
                self._wait(decision.pause_s, lambda: bool(self._asked))
        finally:
            for seat in self.seats.values():
                seat.line.send(messages.Leave())
            self._connections.close_all()

    # -- before a start ----------------------------------------------------------------------------

    def _all_there(self) -> bool:
        return len(self.seats) == self.terms.count

    def _gather(self) -> bool:
        """Waits for all members. False when one never came, or when asked to end."""
        self._began = time.monotonic()
        for rank in range(self.terms.count):
            if rank not in self.seats:
                self._respawn(rank)
        self._wait(
            self.terms.join_s, lambda: self._all_there() or bool(self._asked) or self._gone(), judged=True
        )
        if self._all_there() and not self._asked:
            assembled = ev.GroupAssembled(count=self.terms.count, ranks_by_host=self._ranks_by_host())
            self._tell(f"{self.terms.count} processes there: {_hosts(assembled.ranks_by_host)}", assembled)
            return True
        if not self._asked:
            absent = tuple(rank for rank in range(self.terms.count) if rank not in self.seats)
            waited_s = min(self.terms.join_s, round(time.monotonic() - self._began, 1))
            text = f"{group_health.format_ranks(absent)} did not come within {waited_s:.0f} s"
            self._tell(text, ev.AgentsMissing(ranks=list(absent), waited_s=waited_s))
        return False

    def _ranks_by_host(self) -> dict[str, list[int]]:
        by_host: dict[str, list[int]] = {}
        for rank in sorted(self.seats):
            by_host.setdefault(self.seats[rank].seen.host, []).append(rank)
        return by_host

    # -- one attempt -------------------------------------------------------------------------------

    def _attempt(self, number: int, *, again: bool) -> int:
        self.attempts += 1
        self._began = math.inf  # all have come: one that goes from here on is lost, not missing
        self._endings, self._killing, self.blamed = [], False, None
        self._said.clear()
        ports = self.terms.ports
        if self._meeting is not None:
            address = self._meeting(number)
        else:
            port = ports[number % len(ports)] if ports else free_port()
            address = f"{self.terms.advertised}:{port}"
        for seat in self.seats.values():
            seat.last, seat.sequence, seat.stacks = {}, -1, None
            seat.seen.rates, seat.seen.running, seat.seen.pace = [], True, 0
            seat.seen.moved_at = time.monotonic()
            resume = self.terms.resume or again
            seat.line.send(messages.Start(number, self.terms.count, address, resume))
        while not self._endings:
            self._turn(judged=True)
            if self._asked:
                return self._end_in_order()
            if self._stall_to_act_on():
                return self._bring_down()
        return self._after_first_ending()

    def _after_first_ending(self) -> int:
        self._wait(SETTLE_S, self._all_ended)
        first = group_health.first_failure(self._endings)
        if first is None:  # all that have ended ended well
            if not self._wait(GROUP_GRACE_S, self._all_ended):
                return self._bring_down()
            first = group_health.first_failure(self._endings)
        if first is None:
            return 0
        if first.shell_code in group_health.REQUESTED_EXITS and not first.signal:
            name = group_health.REQUESTED_EXITS[first.shell_code]
            self._tell_asked(
                f"{name} came to the host of process {first.rank}: all save and end", name, first.rank
            )
            self._asked = self._asked or name
            self._wait(GROUP_GRACE_S, self._all_ended)
        return self._bring_down()

    def _end_in_order(self) -> int:
        pid, command = self._asked_by
        sender = f" from process {pid} ({command or 'it has ended'})" if pid else ""
        self._tell_asked(f"{self._asked} came{sender}: all save at the same step and end", self._asked)
        for seat in self.seats.values():
            seat.line.send(messages.Stop(self._asked))
        if not self._wait(GROUP_GRACE_S, self._all_ended):
            return self._bring_down()
        return self._code()

    def _bring_down(self) -> int:
        """Stacks of all that still run, then their end; and whom it was because of."""
        self.blamed = group_health.first_failure(self._endings)
        if not self._all_ended():
            self._take_stacks()
            self._killing = True
            for rank, seat in self.seats.items():
                if not self._has_ended(rank):
                    seat.line.send(messages.Kill("the group is brought down"))
            self._wait(KILL_TIMEOUT_S, self._all_ended)
            for rank in [rank for rank in self.seats if not self._has_ended(rank)]:
                self._drop(rank, "it does not end when asked to")
        self._tell_ending()
        return self._code()

    def _take_stacks(self) -> None:
        asked = [seat for rank, seat in self.seats.items() if not self._has_ended(rank)]
        for seat in asked:
            seat.stacks = None
            seat.line.send(messages.TakeStacks())
        self._wait(STACKS_TIMEOUT_S, lambda: all(seat.stacks is not None for seat in asked))
        for seat in asked:
            if seat.stacks is not None:
                main = " < ".join(seat.stacks.main[:4]) or "no Python frames"
                self._tell(
                    f"process {seat.seen.rank} is in {main}",
                    ev.AgentStacksCaptured(
                        rank=seat.seen.rank, main=list(seat.stacks.main), file=seat.stacks.file
                    ),
                )

    def _tell_ending(self) -> None:
        if self.blamed is None:
            return
        one = self.blamed
        text = f"{one.words}{_finding_suffix(one)}; the others were ended with it"
        lost = ev.AgentLost(
            rank=one.rank, host=one.host, exit_code=one.exit_code, signal=one.signal, verdict=dict(one.verdict),
            text=text,
        )  # fmt: skip
        self._tell(text, lost)

    def _code(self) -> int:
        codes = [one.shell_code for one in self._endings if not one.by_us]
        if self.blamed is not None:
            return self.blamed.shell_code or 75
        if not codes:
            return 124
        return max(codes)

    def _failure(self, code: int) -> AttemptFailure:
        reached = max((seat.seen.step for seat in self.seats.values()), default=0)
        one = self.blamed
        return AttemptFailure(
            exit_code=None if one is not None and one.signal else code, signal=one.signal if one else None,
            stopped_by_us="stall" if code == 124 else "", reached=reached or None, saves=1,
        )  # fmt: skip

    # -- one turn of the loop ----------------------------------------------------------------------

    def _wait(self, seconds: float, done: Callable[[], bool], *, judged: bool = False) -> bool:
        until = time.monotonic() + seconds
        while not done():
            if time.monotonic() >= until:
                return False
            self._turn(judged=judged)
        return True

    def _turn(self, *, judged: bool) -> None:
        for line in self._connections.poll(LOOK_S):
            self._hear(line)
        self._connections.close_late()
        now = time.monotonic()
        self._standing = []
        if now - self._looked_at < min(LOOK_S, self.terms.count * LOOK_S_A_PROCESS):
            return
        self._looked_at = now
        for seat in self.seats.values():
            if not seat.unanswered and now - seat.pinged >= PING_EVERY_S:
                seat.pinged, seat.unanswered = now, True
                seat.line.send(messages.Ping(now))
        if self._show is not None and now - self._shown_at >= EVERY_S:
            self._shown_at = now
            self._show([seat.seen for seat in self.seats.values()], self.attempts)
        if judged:
            self._judge(now)
        event = self._noticed()
        if event is not None:
            self._note(event)

    def _judge(self, now: float) -> None:
        seen = {rank: seat.seen for rank, seat in self.seats.items()}
        for remark in group_health.judge_group(seen, count=self.terms.count, began=self._began, now=now):
            if (remark.kind == "silent" and self.seats[remark.ranks[0]].seen.running) or remark.stands:
                self._standing.append(remark)
            key = f"{remark.kind} {remark.ranks}"
            if now - self._said.get(key, -1e9) >= REPEAT_WARNING_S:
                self._said[key] = now
                self._tell(remark.words, remark.event())

    def _stall_to_act_on(self) -> bool:
        """Stands, and the terms say to do something about it."""
        for one in self._standing:
            if one.kind == "silent":
                rank = one.ranks[0]
                self._end(rank, gone=True)
                self._drop(rank, one.words)
                return True
        return bool(self._standing) and self.terms.on_stall in ("restart", "stop")

    # -- what comes in -----------------------------------------------------------------------------

    def _hear(self, line: MessageConnection) -> None:
        """A line that sends no message is closed, and nothing else happens because of it."""
        is_open = line.fill()
        try:
            seat = self._seat_of(line)
            while seat is not None and (message := line.take(messages.FROM_AGENT)) is not None:
                self._take(seat, message)
        except _Rejected as refusal:
            self._tell_rejected(line.peer, str(refusal))
            line.send(messages.JoinRefused(str(refusal)))
            self._lose(line, "")
            return
        except NotAMessage as error:
            if self._connections.waits(line):
                self._tell_rejected(line.peer, str(error))
            self._lose(line, str(error))
            return
        if not is_open:
            self._lose(line, "")

    def _seat_of(self, line: MessageConnection) -> AgentConnection | None:
        """Of the agent at the other end, from its hello on; None while the token has not come."""
        if not self._connections.waits(line):
            return next((one for one in self.seats.values() if one.line is line), None)
        hello = line.take(messages.BEFORE_TOKEN, most_bytes=messages.HELLO_BYTES)
        return self._welcome(line, hello) if isinstance(hello, Hello) else None

    def _welcome(self, line: MessageConnection, hello: Hello) -> AgentConnection:
        if not same_token(hello.token, self.terms.token):
            raise _Rejected("its token is not the group's")
        if hello.version != messages.VERSION:
            ours = messages.VERSION
            raise _Rejected(f"it speaks version {hello.version} of the messages, and this coordinator {ours}")
        if not hello.rank < self.terms.count:
            raise _Rejected(f"process {hello.rank} is not of a group of {self.terms.count}")
        if hello.rank in self.seats:
            raise _Rejected(f"process {hello.rank} is there already, on {self.seats[hello.rank].seen.host}")
        self._connections.admit(line)
        seen = ProcessStatus(hello.rank, hello.host, heard_at=time.monotonic(), pid=hello.pid)
        self.seats[hello.rank] = AgentConnection(line, seen)
        return self.seats[hello.rank]

    def _lose(self, line: MessageConnection, fault: str) -> None:
        seat = next((one for one in self.seats.values() if one.line is line), None)
        self._connections.close(line)
        if seat is None:
            return
        rank = seat.seen.rank
        if not self._has_ended(rank) and seat.seen.running:
            self._end(rank, gone=True)
        self._drop(rank, fault)

    def _tell_rejected(self, address: str, why: str) -> None:
        """Once for each host and reason."""
        key = (address.rpartition(":")[0], why)
        if key not in self._rejected and len(self._rejected) < REJECTIONS_TOLD:
            self._rejected.add(key)
            self._tell(f"turned away {address}: {why}", ev.PeerRejected(address=address, why=why))

    def _take(self, seat: AgentConnection, message: Message) -> None:
        now = time.monotonic()
        seat.seen.heard_at = now
        if isinstance(message, Pong):
            self._take_pong(seat, message, now)
        elif isinstance(message, Stacks):
            seat.stacks = message
        elif isinstance(message, ProcessEnded):
            self._end(seat.seen.rank, ended=message)
        elif isinstance(message, Status):
            self._take_status(seat, message, now)

    def _take_pong(self, seat: AgentConnection, pong: Pong, now: float) -> None:
        if not seat.unanswered or pong.at != seat.pinged:
            raise NotAMessage("it answered a ping that was not sent")
        answered_s, link_s = now - seat.pinged, seat.line.round_trip_s()
        trip_s = answered_s if link_s is None else min(answered_s, link_s)
        trips = [*seat.seen.round_trips_s, trip_s]
        seat.seen.round_trips_s, seat.unanswered = trips[-group_health.ROUND_TRIPS :], False

    def _take_status(self, seat: AgentConnection, status: Status, now: float) -> None:
        seen = seat.seen
        if status.step is None:
            return
        if status.sequence != seat.sequence or status.pace != seen.pace:
            seat.sequence, seen.moved_at = status.sequence, now
        seen.step, seen.phase, seen.state = status.step, status.phase, status.state
        seen.pid, seen.pace = status.pid, status.pace
        if status.steps is not None:
            counters = {
                "at": now, "steps": status.steps, "own_s": status.own_s, "data_s": status.data_s,
                "together_s": status.together_s,
            }  # fmt: skip
            if rate := _rate(seat.last, counters):
                seen.rates = [*seen.rates[-4:], rate]
                seat.last = counters
            seat.last = seat.last or counters

    # -- endings -----------------------------------------------------------------------------------

    def _end(self, rank: int, *, ended: ProcessEnded | None = None, gone: bool = False) -> None:
        seat, ended = self.seats[rank], ended or ProcessEnded(attempt=0)
        seat.seen.running = False
        seat.seen.step = max(seat.seen.step, ended.step or 0)  # its last report may be seconds old
        self._endings.append(
            AgentExit(
                rank, seat.seen.host, time.monotonic(), ended.exit_code, ended.signal, ended.shell_code,
                by_us=self._killing, gone=gone, verdict=ended.verdict,
            )
        )  # fmt: skip

    def _has_ended(self, rank: int) -> bool:
        return any(one.rank == rank for one in self._endings)

    def _all_ended(self) -> bool:
        return all(self._has_ended(rank) for rank in range(self.terms.count))

    def _drop(self, rank: int, why: str) -> None:
        seat = self.seats.pop(rank, None)
        if seat is not None:
            self._connections.close(seat.line)
        if why:
            self._tell(f"process {rank} is given up: {why}", ev.AgentDropped(rank=rank, why=why))

    def _tell_asked(self, text: str, name: str, rank: int | None = None) -> None:
        pid, command = self._asked_by if rank is None else (None, "")
        asked = ev.GroupStopRequested(signal=name, rank=rank, from_pid=pid, from_command=command, text=text)
        self._tell(text, asked)

    def _tell(self, text: str, event: Event) -> None:
        self._say(f"holdfast: {text}")
        self._note(event)


def same_token(shown: str, ours: str) -> bool:
    """In a time that does not say how much of it was right."""
    return hmac.compare_digest(*(one.encode("utf-8", "surrogatepass") for one in (shown, ours)))


def since_progress(failures: list[AttemptFailure]) -> list[AttemptFailure]:
    """The attempts since the group last got further: on machines that are taken away, progress earns new restarts."""
    last, before = failures[-1], failures[-2] if len(failures) > 1 else None
    gained = before is not None and (last.reached or 0) > (before.reached or 0)
    return [last] if gained else failures


def _rate(before: dict[str, float], now: dict[str, float]) -> StepRate | None:
    """What a step took since, once the window is long enough."""
    if not before:
        return None
    steps, spent_s = now["steps"] - before["steps"], now["at"] - before["at"]
    if steps < WINDOW_STEPS or spent_s < WINDOW_S:
        return None
    own_s, data_s, together_s = (now[name] - before[name] for name in ("own_s", "data_s", "together_s"))
    return StepRate(own_s / steps, data_s / steps, spent_s / steps, together_s / steps)


def _hosts(by_host: Mapping[str, Sequence[int]]) -> str:
    return ", ".join(
        f"{group_health.format_ranks(tuple(ranks))} on {host}" for host, ranks in by_host.items()
    ).replace("processes ", "").replace("process ", "")  # fmt: skip


def _finding_suffix(one: AgentExit) -> str:
    title, summary = one.verdict.get("title"), one.verdict.get("summary")
    return f": {title or summary}" if title or summary else ""
