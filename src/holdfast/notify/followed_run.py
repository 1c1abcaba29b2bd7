"""Which events of a journal are worth a message, and when it is due. The clock is an argument."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.journal import events as ev
from holdfast.journal.reader import Entry
from holdfast.notify.notice import NoticeKind
from holdfast.units import long_duration

#: After a stall is seen: until its stacks are captured, which the verdict is made of.
STALL_SETTLES_S = 4.0
_GROUP_STALLS = ("missing", "silent", "suspended")


@dataclass(frozen=True, slots=True)
class DueNotice:
    """A message that is due, without the verdict, which is looked up when it is sent."""

    event: NoticeKind
    why: str = ""
    attempt: int | None = None  # that the verdict is about; None: the last one


class FollowedRun:
    """Fed with the new entries of a journal; `due` returns what is to be sent now."""

    def __init__(self) -> None:
        self._ready: list[DueNotice] = []
        self._stall: DueNotice | None = None  # seen, and not sent yet
        self._stall_due = 0.0
        self._stall_sent = False
        self._ended_at: float | None = None

    def update(self, entries: Iterable[Entry], *, now: float) -> None:
        for entry in entries:
            self._see(entry.event, entry.attempt, now)

    def due(self, *, now: float) -> list[DueNotice]:
        if self._stall is not None and now >= self._stall_due:
            self._ready.append(self._stall)
            self._stall, self._stall_sent = None, True
        ready, self._ready = self._ready, []
        return ready

    def _see(self, event: ev.Event, attempt: int, now: float) -> None:
        if isinstance(event, ev.Stalled) and not self._stall_sent:
            self._stall, self._stall_due = DueNotice("stall"), now + STALL_SETTLES_S
        elif isinstance(event, ev.GroupRemark) and event.remark in _GROUP_STALLS and not self._stall_sent:
            self._stall, self._stall_due = DueNotice("stall", event.text), now
        elif isinstance(event, ev.StallEnded):
            self._recovered(event.silent_for_s)
        elif isinstance(event, ev.AttemptEnded):
            self._stall = None  # the message about the restart or the end says that it stalled
        elif isinstance(event, ev.Restarted):
            self._restarted(f"restarted after {event.pause_s:g} s: {event.why}", attempt)
        elif isinstance(event, ev.GroupRestarted):
            self._restarted(f"all processes are started again in {event.pause_s:g} s")

    def _recovered(self, silent_for_s: float) -> None:
        """A stall that was over before anybody heard of it is not worth a message."""
        if self._stall_sent:
            self._ready.append(DueNotice("recovered", f"it moves again, after {long_duration(silent_for_s)}"))
        self._stall, self._stall_sent = None, False

    def _restarted(self, why: str, attempt: int | None = None) -> None:
        """The verdict is about the attempt that ended; that of a new one would say that it runs."""
        self._stall, self._stall_sent = None, False
        self._ready.append(DueNotice("restart", why, attempt))
