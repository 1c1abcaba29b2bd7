"""A terminal for the child where the user has one, so that progress bars, colours and `input()` work.

The child gets a pseudo-terminal of its own. The user's terminal stops echoing and collecting lines, which the child's
does now, but still turns Ctrl-C, Ctrl-Z and Ctrl-\\ into signals for the supervisor.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import termios
from dataclasses import dataclass
from typing import Any

_LOCAL_FLAGS = 3
_OUTPUT_FLAGS = 1
_CONTROL_CHARACTERS = 6


class UserTerminal:
    """The terminal that the user types at; `fd` is one of our own three streams."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._modes: list[Any] = termios.tcgetattr(fd)
        self._released = False

    @property
    def modes(self) -> list[Any]:
        """As they were at the start."""
        return list(self._modes)

    @property
    def in_foreground(self) -> bool:
        """Whether our process group is in the foreground; a job in the background must not change the terminal."""
        try:
            return os.tcgetpgrp(self.fd) == os.getpgrp()
        except OSError:
            return False

    def release(self) -> None:
        """Leaves echo and line editing to the child's terminal."""
        if not self.in_foreground:
            return
        modes = self.modes
        modes[_LOCAL_FLAGS] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        modes[_CONTROL_CHARACTERS] = list(modes[_CONTROL_CHARACTERS])
        modes[_CONTROL_CHARACTERS][termios.VMIN] = 1
        modes[_CONTROL_CHARACTERS][termios.VTIME] = 0
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)
            self._released = True

    def reclaim(self, *, even_in_background: bool = False) -> None:
        if self._released and (even_in_background or self.in_foreground):
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.fd, termios.TCSANOW, self._modes)
            self._released = False


@dataclass(frozen=True, slots=True)
class PtyPair:
    our_end: int
    child_end: int
    path: str  # of the child's end


def open_like(user: UserTerminal) -> PtyPair | None:
    """A new terminal with the modes and the size of the user's; None where none can be created (no devpts).

    Line ends are not converted on the child's side: the user's terminal does that, and the log then has the bytes that
    were printed. The child's end must stay open here until the child has opened it: reading from a terminal that
    nobody has open ends at once.
    """
    try:
        our_end, child_end = pty.openpty()
    except OSError:
        return None
    try:
        path = os.ttyname(child_end)
        modes = user.modes
        modes[_OUTPUT_FLAGS] &= ~termios.OPOST
        termios.tcsetattr(child_end, termios.TCSANOW, modes)
    except (OSError, termios.error):
        os.close(our_end)
        os.close(child_end)
        return None
    copy_size(user.fd, our_end)
    return PtyPair(our_end, child_end, path)


def copy_size(source: int, target: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(target, termios.TIOCSWINSZ, fcntl.ioctl(source, termios.TIOCGWINSZ, b"\0" * 8))
