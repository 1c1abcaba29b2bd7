"""The relay: a small process between the child and the screen, which outlives the supervisor.

A child whose output pipe has lost its reader dies of SIGPIPE, one whose terminal has gone dies of SIGHUP.
So neither may hang on the supervisor: the relay holds the reading ends, sits in a session of its own,
ignores every signal that can be ignored, and goes on into `output.log` when the screen or the supervisor
is gone. It is forked, not started anew: it costs the pages it writes.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.supervise.child.buffered_writer import BackgroundWriter
from holdfast.supervise.child.capped_log import CappedLog
from holdfast.supervise.child.tensorflow_noise import TensorFlowNoiseFilter

_READ_BYTES = 256 * 1024
_LOG_RETRY_S = 5.0
_LINGER_S = 5.0  # that a terminal may take for the rest: a shell writes there again by then


class SharedPage:
    """A page of memory that the relay and the supervisor share."""

    _LAYOUT = struct.Struct(
        "<QdQQi?"
    )  # output bytes, when last, lost by the log, not shown, log's errno, ended

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, mmap.PAGESIZE)
        self.post(0, time.monotonic(), 0, 0, 0, False)

    def post(
        self, output: int, when: float, log_lost: int, not_shown: int, log_errno: int, ended: bool
    ) -> None:
        self._LAYOUT.pack_into(self._map, 0, output, when, log_lost, not_shown, log_errno, ended)

    def read(self) -> RelayStatus:
        return RelayStatus(*self._LAYOUT.unpack_from(self._map, 0))

    @property
    def keyboard(self) -> bool:
        """Whether the relay may read the user's terminal: only while the supervisor stands in front."""
        return self._map[2048] == 1

    @keyboard.setter
    def keyboard(self, may_read: bool) -> None:
        self._map[2048] = int(may_read)

    @property
    def end_known(self) -> bool:
        """Whether the supervisor saw the command end, so that nobody need wonder when it is gone itself."""
        return self._map[2049] == 1

    @end_known.setter
    def end_known(self, known: bool) -> None:
        self._map[2049] = int(known)


@dataclass(frozen=True, slots=True)
class RelayStatus:
    output_bytes: int
    last_output: float  # monotonic
    log_lost_bytes: int
    not_shown_bytes: int
    log_errno: int
    ended: bool


@dataclass(frozen=True, slots=True)
class RelayStream:
    """One reading end, and where on the screen it goes."""

    source: int
    screen: int


@dataclass(frozen=True, slots=True)
class RelayConfig:
    streams: tuple[RelayStream, ...]
    log: Path
    keyboard: int | None = None  # the user's terminal, to be read
    terminal: int | None = None  # our side of the child's terminal, to be written
    hush: bool = False  # known chatter of libraries goes into the log alone
    when_orphaned: Callable[[], None] = lambda: None
    when_ended_orphaned: Callable[[int], None] = lambda output_bytes: None


def start(wiring: RelayConfig, board: SharedPage, *, close: tuple[int, ...] = ()) -> int:
    """Forks the relay and returns its pid. `close` lists what the relay must not keep open."""
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
            if number < signal.SIGRTMIN and number not in _CRASHES:
                signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for fd in close:
            os.close(fd)
        _Relay(wiring, board, supervisor).work()
        code = 0
    finally:
        os._exit(code)


_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}


class _Relay:
    def __init__(self, wiring: RelayConfig, board: SharedPage, supervisor: int) -> None:
        self._wiring = wiring
        self._board = board
        self._supervisor = supervisor
        self._orphaned = False
        self._count = 0
        self._last = time.monotonic()
        self._log = _log_sink(wiring.log)
        self._screens = {
            fd: BackgroundWriter(_writer(fd), gap=_not_shown) for fd in {s.screen for s in wiring.streams}
        }
        self._screen_of = {stream.source: self._screens[stream.screen] for stream in wiring.streams}
        self._hushed = {stream.source: TensorFlowNoiseFilter() for stream in wiring.streams if wiring.hush}
        self._typed = b""  # what the child's terminal has no room for yet
        if wiring.terminal is not None:
            # A script that does not read what is typed must not stop its own output.
            os.set_blocking(wiring.terminal, False)

    def work(self) -> None:
        poll = select.poll()
        open_sources = set(self._screen_of)
        while open_sources:
            for source in open_sources:
                wants_room = self._typed and source == self._wiring.terminal
                poll.register(source, select.POLLIN | select.POLLOUT if wants_room else select.POLLIN)
            self._mind_keyboard(poll)
            for fd, what in poll.poll(500):
                if fd == self._wiring.keyboard:
                    self._read_keyboard()
                if fd == self._wiring.terminal and what & select.POLLOUT:
                    self._type()
                if fd in open_sources and what & ~select.POLLOUT and not self._take(fd):
                    poll.unregister(fd)
                    open_sources.discard(fd)
            self._mind_supervisor()
            self._post(ended=False)
        self._finish()

    def _take(self, source: int) -> bool:
        """Reads what is there; False at the end. A terminal ends in EIO when its last user closes it."""
        try:
            data = os.read(source, _READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        self._count += len(data)
        self._last = time.monotonic()
        self._log.put(data)
        hush = self._hushed.get(source)
        if shown := hush.shown(data) if hush is not None else data:
            self._screen_of[source].put(shown)
        return True

    def _mind_keyboard(self, poll: select.poll) -> None:
        keyboard = self._wiring.keyboard
        if keyboard is None:
            return
        if self._board.keyboard and not self._orphaned and not self._typed:
            poll.register(keyboard, select.POLLIN)
        else:
            with contextlib.suppress(KeyError):
                poll.unregister(keyboard)

    def _read_keyboard(self) -> None:
        keyboard = self._wiring.keyboard
        if keyboard is None or os.getppid() != self._supervisor or not self._board.keyboard:
            return
        try:
            self._typed = os.read(keyboard, 4096)
        except OSError:
            self._typed = b""
        if self._typed:
            self._type()
        else:
            self._board.keyboard = False

    def _type(self) -> None:
        """What there is room for; the rest waits, and the keyboard with it, as it would without us."""
        if self._wiring.terminal is None:
            return
        try:
            self._typed = self._typed[os.write(self._wiring.terminal, self._typed) :]
        except BlockingIOError:
            return
        except OSError:
            self._typed = b""
            self._board.keyboard = False

    def _mind_supervisor(self) -> None:
        if not self._orphaned and os.getppid() != self._supervisor:
            self._orphaned = True
            self._wiring.when_orphaned()

    def _post(self, *, ended: bool) -> None:
        error = self._log.error
        self._board.post(
            self._count,
            self._last,
            self._log.lost_bytes,
            sum(screen.lost_bytes for screen in self._screens.values()),
            (error.errno or 5) if error is not None else 0,
            ended,
        )

    def _finish(self) -> None:
        for source, hush in self._hushed.items():
            if rest := hush.rest():
                self._screen_of[source].put(rest)
        self._log.finish(within_s=_LINGER_S)
        self._mind_supervisor()
        if self._orphaned and not self._board.end_known:
            self._wiring.when_ended_orphaned(self._count)
        for fd, screen in self._screens.items():
            if not screen.finish(within_s=_LINGER_S if _is_terminal(fd) else None):
                screen.leave_out_rest()
                screen.finish(within_s=None)
        self._log.finish(within_s=None)
        self._post(ended=True)


def _is_terminal(fd: int) -> bool:
    """A pipe or a file is waited for as long as it takes: we are a process of our own, and hold up nobody."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def _writer(fd: int) -> Callable[[bytes], None]:
    """Somebody else may have made our screen non-blocking; then we wait for room by ourselves."""

    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                select.select((), (fd,), ())

    return write


def _log_sink(path: Path) -> BackgroundWriter:
    """Opens the log when it can: a full or missing disk now may be mended later."""
    log: CappedLog | None = None
    with contextlib.suppress(OSError):
        log = CappedLog(path)

    def write(data: bytes) -> None:
        nonlocal log
        if log is None:
            log = CappedLog(path)
        log.write(data)

    return BackgroundWriter(write, gap=_not_logged, retry_s=_LOG_RETRY_S)


def _not_shown(count: int) -> bytes:
    return f"\n[holdfast: {count} bytes were not shown here; output.log has them]\n".encode()


def _not_logged(count: int) -> bytes:
    return f"\n[holdfast: {count} bytes could not be written here]\n".encode()
