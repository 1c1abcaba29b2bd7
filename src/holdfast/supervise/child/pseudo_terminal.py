"""A terminal for the child where the user has one, so that progress bars, colours and `input()` work.

The child gets a pseudo-terminal of its own. The user's terminal stops echoing and collecting lines, which
the child's does now, but still turns Ctrl-C, Ctrl-Z and Ctrl-\\ into signals for the supervisor.
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
    """The terminal that the user sits at; `fd` is any of our own three that is it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._modes: list[Any] = termios.tcgetattr(fd)
        self._quiet = False

    @property
    def modes(self) -> list[Any]:
        """As they were found."""
        return list(self._modes)

    @property
    def ours(self) -> bool:
        """Whether we stand in the foreground; a job in the background must not change the terminal."""
        try:
            return os.tcgetpgrp(self.fd) == os.getpgrp()
        except OSError:
            return False

    def hand_over(self) -> None:
        """Leaves echo and line editing to the child's terminal."""
        if not self.ours:
            return
        modes = self.modes
        modes[_LOCAL_FLAGS] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        modes[_CONTROL_CHARACTERS] = list(modes[_CONTROL_CHARACTERS])
        modes[_CONTROL_CHARACTERS][termios.VMIN] = 1
        modes[_CONTROL_CHARACTERS][termios.VTIME] = 0
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)
            self._quiet = True

    def take_back(self, *, even_in_background: bool = False) -> None:
        if self._quiet and (even_in_background or self.ours):
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.fd, termios.TCSANOW, self._modes)
            self._quiet = False


@dataclass(frozen=True, slots=True)
class PtyPair:
    ours: int
    theirs: int
    path: str  # of their side


def open_like(user: UserTerminal) -> PtyPair | None:
    """A new terminal with the modes and the size of the user's; None where none can be made (no devpts).

    Line ends are left alone on the child's side: the user's terminal turns them already, and the log
    then holds the bytes that were printed. The child's side must stay open here until the child has
    opened it: a terminal without a user reads as ended.
    """
    try:
        ours, theirs = pty.openpty()
    except OSError:
        return None
    try:
        path = os.ttyname(theirs)
        modes = user.modes
        modes[_OUTPUT_FLAGS] &= ~termios.OPOST
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
    except (OSError, termios.error):
        os.close(ours)
        os.close(theirs)
        return None
    copy_size(user.fd, ours)
    return PtyPair(ours, theirs, path)


def copy_size(source: int, target: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(target, termios.TIOCSWINSZ, fcntl.ioctl(source, termios.TIOCGWINSZ, b"\0" * 8))
