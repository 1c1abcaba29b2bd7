"""Another process that the main thread waits for, over a socket: one of its group, or one that sends data.

An exchange goes both ways; data comes one way, and is asked for where the training reads its data.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.readers import reads_data
from holdfast.explain.readings.stacks import StalledThread, ThreadState, stalled_thread
from holdfast.journal.beats import Phase

#: Of what came in, that is sent back at least in an exchange, and at most where data is read. Chosen: a request for a
#: batch is a few bytes for many, weights and gradients are as large in both directions.
_SENT_BACK = 0.1
_MUCH, _SOME = 64 << 10, 1 << 10  # bytes: of a batch or of weights; more than a greeting


class OtherEnd(enum.Enum):
    PEER = enum.auto()  # a process that trains with this one
    DATA = enum.auto()
    EITHER = enum.auto()
    CLIENT = enum.auto()  # this one serves whoever comes, in a loop without an end


@dataclass(frozen=True, slots=True)
class Awaited:
    stalled: StalledThread
    end: OtherEnd

    @property
    def state(self) -> str:
        """listening | connected | connecting | retrying"""
        return str(self.stalled.thread.socket.get("state") or "retrying")

    @property
    def fact(self) -> Fact | None:
        """How many came, or how much went each way."""
        socket = self.stalled.thread.socket
        kind = "socket.listens" if self.state == "listening" else "socket.traffic"
        return Fact(kind, dict(socket), self.stalled.reading.source) if socket else None


def awaited(evidence: Evidence) -> Awaited | None:
    stalled = stalled_thread(evidence, lambda thread: thread.main and not thread.busy)
    if stalled is None or not stalled.trains or evidence.phase is Phase.EXIT or stalled.thread.users is None:
        return None
    end = _end(stalled.thread)
    return Awaited(stalled, end) if end is not None else None


def _end(thread: ThreadState) -> OtherEnd | None:
    socket, own = thread.socket, thread.users
    if not socket:
        retries = own is not None and own.connects and "sleep" in f"{thread.wait} {thread.syscall}"
        return OtherEnd.EITHER if retries and not reads_data(thread) else None
    if reads_data(thread):
        return OtherEnd.DATA
    listens = socket.get("state") == "listening"
    if listens and own is not None and own.endless:
        return OtherEnd.CLIENT
    sent, received = number_of(socket.get("sent")) or 0.0, number_of(socket.get("received")) or 0.0
    if received >= _MUCH and sent < _SENT_BACK * received:
        return OtherEnd.DATA
    exchanged = received > 0 and sent >= max(_SOME, _SENT_BACK * received)
    return OtherEnd.PEER if listens or exchanged else OtherEnd.EITHER
