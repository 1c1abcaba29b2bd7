"""What a signal to the supervisor means for its child. Pure; the attempt carries it out.

The terminal sends Ctrl-C to its whole foreground group, so SIGINT, SIGQUIT and SIGHUP go to the whole group of the
child. A scheduler sends SIGTERM to the process that it started, and a training script then saves its state with its
loader processes still alive: SIGTERM goes to the command alone, and so do SIGUSR1 and SIGUSR2.

A script may handle a signal and continue: it reads its settings again at SIGHUP, it draws a plot at Ctrl-C. So a
signal counts as the reason of an end only as long as nothing shows that the training continued.
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
    SUSPEND = "stop with the child until SIGCONT"
    RESUME = "take the terminal back"
    RESIZE = "pass on the size of the window"
    POLL = "poll the child"


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
    signal.SIGCHLD: Response.POLL,
}

#: Why the child ended, when it does after one of these.
STOPPED_BY: dict[signal.Signals, StoppedBy] = {
    signal.SIGINT: "interrupt",
    signal.SIGQUIT: "interrupt",
    signal.SIGTERM: "terminate",
    signal.SIGHUP: "hangup",
}


def respond(number: int, *, interrupts: int) -> Response:
    """`interrupts` counts the SIGINTs so far, with this one: the first is forwarded, the second kills."""
    if number == signal.SIGINT and interrupts > 1:
        return Response.KILL
    return _RESPONSES.get(signal.Signals(number), Response.TO_COMMAND)


_SECOND_WITHIN_S = 10.0


class InterruptCounter:
    """Counts those within ten seconds: an hour later, a Ctrl-C is a first one again."""

    def __init__(self) -> None:
        self._times: list[float] = []

    def add(self, now: float) -> int:
        self._times = [at for at in self._times if now - at <= _SECOND_WITHIN_S] + [now]
        return len(self._times)


#: Batches done so long after a signal show that it was handled. Before that, a loop may be finishing its batch; after
#: a scheduler's SIGTERM it may finish its epoch.
_MAX_WORK_AFTER_S = {"interrupt": 10.0, "hangup": 10.0, "terminate": 60.0}
_WITHOUT_BATCHES_S = 60.0  # where batches are not counted
_SAVING_S = 300.0  # where they are, and none are done: it saves, or works after the training


@dataclass(frozen=True, slots=True)
class EndRequest:
    """A request to the command to end: by what, when, and the batches that it has done since."""

    by: StoppedBy
    at: float
    batches: int | None = None
    last_batch_at: float = float("-inf")

    def updated(self, *, now: float, batches: int | None) -> EndRequest:
        moved = batches is not None and self.batches is not None and batches != self.batches
        return replace(
            self,
            batches=self.batches if batches is None else batches,
            last_batch_at=now if moved else self.last_batch_at,
        )


def still_counts(request: EndRequest, *, now: float) -> bool:
    """Whether an end now would be the result of the request."""
    if request.by not in _MAX_WORK_AFTER_S:
        return True
    if request.batches is None:
        return now - request.at < _WITHOUT_BATCHES_S
    return (
        request.last_batch_at - request.at <= _MAX_WORK_AFTER_S[request.by] and now - request.at < _SAVING_S
    )
