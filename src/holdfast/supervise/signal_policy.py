"""What a signal to the supervisor means for its child. Pure; the attempt carries it out.

The terminal sends Ctrl-C to everybody in front of it, so SIGINT, SIGQUIT and SIGHUP go to the whole group of
the child. A scheduler sends SIGTERM to the process it started, and a training script saves its state then
with its loader processes still alive: that one goes to the command alone, and so does what users send.

A script may handle a signal and go on: settings are read again at SIGHUP, a picture is drawn at Ctrl-C. So the
signal is held for the reason of an end only as long as nothing shows that the training went on.
"""

from __future__ import annotations

import enum
import signal
from dataclasses import dataclass, replace

from holdfast.journal.events import StoppedBy


class Response(enum.Enum):
    TO_GROUP = "to the whole group"
    TO_COMMAND = "to the command"
    KILL = "kill the tree"
    SUSPEND = "stop with the child until we are continued"
    RESUME = "take the terminal again"
    RESIZE = "hand on the size of the window"
    LOOK = "look at the child"


_RESPONSES = {
    signal.SIGINT: Response.TO_GROUP,
    signal.SIGQUIT: Response.TO_GROUP,
    signal.SIGHUP: Response.TO_GROUP,
    signal.SIGTERM: Response.TO_COMMAND,
    signal.SIGUSR1: Response.TO_COMMAND,
    signal.SIGUSR2: Response.TO_COMMAND,
    signal.SIGTSTP: Response.SUSPEND,
    signal.SIGCONT: Response.RESUME,
    signal.SIGWINCH: Response.RESIZE,
    signal.SIGCHLD: Response.LOOK,
}

#: Why the child ended, when it does after one of these.
STOPPED_BY: dict[signal.Signals, StoppedBy] = {
    signal.SIGINT: "interrupt",
    signal.SIGQUIT: "interrupt",
    signal.SIGTERM: "terminate",
    signal.SIGHUP: "hangup",
}


def respond(number: int, *, interrupts: int) -> Response:
    """`interrupts` counts the SIGINTs so far, this one included: the first asks, the second kills."""
    if number == signal.SIGINT and interrupts > 1:
        return Response.KILL
    return _RESPONSES.get(signal.Signals(number), Response.TO_COMMAND)


_SECOND_WITHIN_S = 10.0


class InterruptCounter:
    """Counts those that belong together: an hour after the first, a Ctrl-C is a first one again."""

    def __init__(self) -> None:
        self._times: list[float] = []

    def add(self, now: float) -> int:
        self._times = [at for at in self._times if now - at <= _SECOND_WITHIN_S] + [now]
        return len(self._times)


#: Batches done so long after a signal say that it was handled. Before that, a loop may be finishing what it was at;
#: what a scheduler asks to end may finish its epoch.
_MAX_WORK_AFTER_S = {"interrupt": 10.0, "hangup": 10.0, "terminate": 60.0}
_WITHOUT_BATCHES_S = 60.0  # where nothing tells of batches
_SAVING_S = 300.0  # where something does, and none are done: it saves, or it works on after the training


@dataclass(frozen=True, slots=True)
class EndRequest:
    """That the command was asked to end: by what, when, and how it went on with its batches since."""

    by: StoppedBy
    at: float
    batches: int | None = None
    worked_at: float = float("-inf")

    def seen(self, *, now: float, batches: int | None) -> EndRequest:
        moved = batches is not None and self.batches is not None and batches != self.batches
        return replace(
            self,
            batches=self.batches if batches is None else batches,
            worked_at=now if moved else self.worked_at,
        )


def still_counts(asked: EndRequest, *, now: float) -> bool:
    """Whether an end now would be the end that was asked for."""
    if asked.by not in _MAX_WORK_AFTER_S:
        return True
    if asked.batches is None:
        return now - asked.at < _WITHOUT_BATCHES_S
    return asked.worked_at - asked.at <= _MAX_WORK_AFTER_S[asked.by] and now - asked.at < _SAVING_S
