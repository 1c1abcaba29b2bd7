"""Starts the command in a session of its own, with its output relayed, and brings home how it ended.

What of our own three streams is a terminal becomes the child's new terminal; standard input that is not
one is handed on as it is; output that is not one becomes a pipe, so that standard output and standard
error each arrive where the user sent them, and through one pipe, in their order, where that is one place.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import termios
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from resource import struct_rusage

from holdfast.host.signals import signal_name
from holdfast.supervise.child import find_program, pseudo_terminal, relay
from holdfast.supervise.child.pseudo_terminal import UserTerminal

_PIPE_BYTES = 1024 * 1024
#: Signals that we keep for ourselves while we watch; the child starts with none of them held back.
BLOCKED_SIGNALS = frozenset(
    {
        signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGCONT,
        signal.SIGWINCH, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended, as `wait4` has it."""

    status: int
    usage: struct_rusage

    @property
    def exit_code(self) -> int | None:
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else None

    @property
    def signal(self) -> str | None:
        return signal_name(os.WTERMSIG(self.status)) if os.WIFSIGNALED(self.status) else None

    @property
    def core_dumped(self) -> bool:
        return os.WIFSIGNALED(self.status) and os.WCOREDUMP(self.status)

    @property
    def shell_code(self) -> int:
        """As a shell has it: the code itself, or 128 and the signal."""
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else 128 + os.WTERMSIG(self.status)


class Child:
    """A started command."""

    def __init__(
        self, pid: int, relay_pid: int, board: relay.SharedPage, user: UserTerminal | None, ours: int | None
    ) -> None:
        self.pid = pid
        self.board = board
        self.user = user
        self._relay_pid = relay_pid
        self._ours = ours  # our side of its terminal
        self.ended: ProcessExit | None = None
        self.stopped = False

    @property
    def has_terminal(self) -> bool:
        return self._ours is not None

    def poll(self) -> ProcessExit | None:
        """Takes note of every change since the last call."""
        while self.ended is None:
            try:
                pid, status, usage = os.wait4(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if os.WIFSTOPPED(status):
                self.stopped = True
            elif os.WIFCONTINUED(status):
                self.stopped = False
            else:
                self.ended = ProcessExit(status, usage)
        return self.ended

    def send(self, number: int) -> None:
        """To the whole process group: loader processes get what a terminal would give them."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def resize(self) -> None:
        if self.user is not None and self._ours is not None:
            pseudo_terminal.copy_size(self.user.fd, self._ours)

    def relay_gone(self) -> bool:
        try:
            return os.waitpid(self._relay_pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            return True

    def close(self) -> None:
        if self._ours is not None:
            os.close(self._ours)
            self._ours = None


@dataclass(frozen=True, slots=True)
class _ChildIo:
    """The ends of what lies between us and the child."""

    streams: tuple[relay.RelayStream, ...]
    actions: tuple[tuple[object, ...], ...]  # for posix_spawn
    childs: tuple[int, ...]  # to be closed here once the child has them
    ours: int | None  # our side of the child's terminal

    def close_childs(self) -> None:
        for fd in self.childs:
            os.close(fd)

    def close_sources(self, *, but: int | None = None) -> None:
        for stream in self.streams:
            if stream.source != but:
                os.close(stream.source)


def start(
    command: Sequence[str],
    *,
    log: Path,
    environment: Mapping[str, str],
    when_ended_orphaned: Callable[[int], None],
    hush: bool = False,
) -> Child:
    """Starts the command; raises CommandNotFound, naming the nearest program, when there is none."""
    program = find_program.find(command[0], environment)
    ends, user = _open_child_io(_user_terminal())
    try:
        pid = os.posix_spawn(
            program,
            list(command),
            dict(environment),
            file_actions=ends.actions,
            setsid=True,
            setsigmask=(),
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores these for itself
        )
    except OSError as error:
        ends.close_childs()
        ends.close_sources()
        raise find_program.not_started(command[0], program, error) from error
    board = relay.SharedPage()
    if user is not None and _is_terminal(0):
        user.hand_over()
        board.keyboard = user.ours
    wiring = relay.RelayConfig(
        streams=ends.streams,
        log=log,
        keyboard=0 if user is not None and _is_terminal(0) else None,
        terminal=ends.ours,
        hush=hush,
        when_orphaned=(lambda: user.take_back(even_in_background=True)) if user is not None else _no_op,
        when_ended_orphaned=when_ended_orphaned,
    )
    relay_pid = relay.start(wiring, board, close=ends.childs)
    ends.close_childs()
    ends.close_sources(but=ends.ours)
    return Child(pid, relay_pid, board, user, ends.ours)


def _open_child_io(user: UserTerminal | None) -> tuple[_ChildIo, UserTerminal | None]:
    """And the user's terminal, or None where the child has none: some containers cannot make one."""
    streams: list[relay.RelayStream] = []
    actions: list[tuple[object, ...]] = []
    childs: list[int] = []
    made = pseudo_terminal.open_like(user) if user is not None else None
    if made is not None:
        childs.append(made.theirs)
        streams.append(relay.RelayStream(made.ours, 1 if _is_terminal(1) else 2))
    for number in (0, 1, 2):
        if _is_terminal(number) and made is not None:
            # Opened by the leader of a new session, it becomes the session's terminal.
            actions.append((os.POSIX_SPAWN_OPEN, number, made.path, os.O_RDWR, 0))
        elif number == 2 and streams and streams[-1].screen == 1 and _same_target(1, 2):
            actions.append((os.POSIX_SPAWN_DUP2, childs[-1], number))
        elif number != 0:
            reading, writing = _pipe()
            actions.append((os.POSIX_SPAWN_DUP2, writing, number))
            streams.append(relay.RelayStream(reading, number))
            childs.append(writing)
    ours = made.ours if made is not None else None
    return _ChildIo(tuple(streams), tuple(actions), tuple(childs), ours), user if made is not None else None


def _same_target(one: int, other: int) -> bool:
    """Whether both go into the same file or pipe, as with `> log 2>&1`."""
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False


def _pipe() -> tuple[int, int]:
    """A pipe of 1 MiB where the system allows it: a burst then does not wait for our next turn."""
    reading, writing = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return reading, writing


def _user_terminal() -> UserTerminal | None:
    for number in (0, 1, 2):
        if _is_terminal(number):
            with contextlib.suppress(termios.error):
                return UserTerminal(number)
    return None


def _is_terminal(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False


def _no_op() -> None:
    return None
