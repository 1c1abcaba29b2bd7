"""Starts the command in a session of its own, with its output relayed, and reports how it ended.

Each of our three streams that is a terminal becomes the child's new terminal. Standard input that is not one is
inherited. Output that is not one becomes a pipe, so that standard output and standard error each arrive where the user
sent them, or through one pipe, in order, where both go to the same file. With a terminal, and stdout redirected:

       user's terminal                                    out.txt
        │ keys      ▲ stderr                                 ▲ stdout
        ▼           │                                        │
    ┌──────────────────────────── relay ─────────────────────────────┐──► output.log
    │ keyboard=0    streams: (our_end → 2)          (read_end → 1)   │
    └────│──────────────▲───────────────────────────────▲────────────┘
         ▼ our_end      │ our_end                       │ read_end
      [ pseudo-terminal ]                            [ pipe ]
         │ child_end    ▲ child_end                     ▲ write_end
         ▼ fd 0         │ fd 2                          │ fd 1
    ┌──────────────────────────── command ───────────────────────────┐
    └────────────────────────────────────────────────────────────────┘

The supervisor closes child_end, write_end and read_end once both processes have them, and keeps our_end to resize it.
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
#: Signals that the supervisor blocks and waits for; the child starts with none of them blocked.
BLOCKED_SIGNALS = frozenset(
    {
        signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGCONT,
        signal.SIGWINCH, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended, from `wait4`."""

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
        """As a shell reports it: the code itself, or 128 plus the signal."""
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else 128 + os.WTERMSIG(self.status)


class Child:
    """A started command."""

    def __init__(
        self,
        pid: int,
        relay_pid: int,
        state: relay.RelayState,
        user: UserTerminal | None,
        pty_end: int | None,
    ) -> None:
        self.pid = pid
        self.relay_state = state
        self.user = user
        self._relay_pid = relay_pid
        self._pty_end = pty_end  # our end of its terminal
        self.ended: ProcessExit | None = None
        self.stopped = False

    @property
    def has_terminal(self) -> bool:
        return self._pty_end is not None

    def poll(self) -> ProcessExit | None:
        """Reads every change of state since the last call."""
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
        if self.user is not None and self._pty_end is not None:
            pseudo_terminal.copy_size(self.user.fd, self._pty_end)

    def relay_gone(self) -> bool:
        try:
            return os.waitpid(self._relay_pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            return True

    def close(self) -> None:
        if self._pty_end is not None:
            os.close(self._pty_end)
            self._pty_end = None


@dataclass(frozen=True, slots=True)
class _ChildIo:
    """The descriptors between us and the child; see the image above."""

    streams: tuple[relay.RelayStream, ...]
    actions: tuple[tuple[object, ...], ...]  # for posix_spawn
    child_ends: tuple[int, ...]  # to be closed here once the child has them
    pty_end: int | None  # our end of the child's terminal

    def close_child_ends(self) -> None:
        for fd in self.child_ends:
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
    filter_noise: bool = False,
) -> Child:
    """Starts the command; raises CommandNotFound, naming the nearest program, when there is none."""
    program = find_program.find(command[0], environment)
    io, user = _open_child_io(_user_terminal())
    try:
        pid = os.posix_spawn(
            program,
            list(command),
            dict(environment),
            file_actions=io.actions,
            setsid=True,
            setsigmask=(),
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores these for itself
        )
    except OSError as error:
        io.close_child_ends()
        io.close_sources()
        raise find_program.not_started(command[0], program, error) from error
    state = relay.RelayState()
    if user is not None and _is_terminal(0):
        user.release()
        state.keyboard = user.in_foreground
    config = relay.RelayConfig(
        streams=io.streams,
        log=log,
        keyboard=0 if user is not None and _is_terminal(0) else None,
        terminal=io.pty_end,
        filter_noise=filter_noise,
        when_orphaned=(lambda: user.reclaim(even_in_background=True)) if user is not None else _no_op,
        when_ended_orphaned=when_ended_orphaned,
    )
    relay_pid = relay.start(config, state, close=io.child_ends)
    io.close_child_ends()
    io.close_sources(but=io.pty_end)
    return Child(pid, relay_pid, state, user, io.pty_end)


def _open_child_io(user: UserTerminal | None) -> tuple[_ChildIo, UserTerminal | None]:
    """And the user's terminal, or None where the child has none: some containers cannot create one."""
    streams: list[relay.RelayStream] = []
    actions: list[tuple[object, ...]] = []
    child_ends: list[int] = []
    pair = pseudo_terminal.open_like(user) if user is not None else None
    if pair is not None:
        child_ends.append(pair.child_end)
        streams.append(relay.RelayStream(pair.our_end, 1 if _is_terminal(1) else 2))
    for number in (0, 1, 2):
        if _is_terminal(number) and pair is not None:
            # Opened by the leader of a new session, it becomes the session's terminal.
            actions.append((os.POSIX_SPAWN_OPEN, number, pair.path, os.O_RDWR, 0))
        elif number == 2 and streams and streams[-1].screen == 1 and _same_target(1, 2):
            actions.append((os.POSIX_SPAWN_DUP2, child_ends[-1], number))
        elif number != 0:
            read_end, write_end = _pipe()
            actions.append((os.POSIX_SPAWN_DUP2, write_end, number))
            streams.append(relay.RelayStream(read_end, number))
            child_ends.append(write_end)
    pty_end = pair.our_end if pair is not None else None
    io = _ChildIo(tuple(streams), tuple(actions), tuple(child_ends), pty_end)
    return io, user if pair is not None else None


def _same_target(one: int, other: int) -> bool:
    """Whether both go into the same file or pipe, as with `> log 2>&1`."""
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False


def _pipe() -> tuple[int, int]:
    """A pipe of 1 MiB where the system allows it: a burst then does not wait for the relay."""
    read_end, write_end = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return read_end, write_end


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
