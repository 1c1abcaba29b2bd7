"""What a signal to the supervisor means for its child. Pure; the attempt carries it out.

The terminal sends Ctrl-C to everybody in front of it, so SIGINT, SIGQUIT and SIGHUP go to the whole group of
the child. A scheduler sends SIGTERM to the process it started, and a training script saves its state then
with its loader processes still alive: that one goes to the command alone, and so does what users send.
"""

from __future__ import annotations

import enum
import signal


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
STOPPED_BY = {
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
