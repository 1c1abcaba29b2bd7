"""The relay: a small process between the command and the screen, which outlives the supervisor.

A command whose output pipe has lost its reader dies of SIGPIPE, one whose terminal has gone dies of SIGHUP. So neither
may depend on the supervisor: the relay owns the reading ends, is in a session of its own, ignores every signal that
can be ignored, and continues to write `output.log` when the screen or the supervisor is gone. It is forked, not
executed: it costs only the pages that it writes.
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
from typing import NamedTuple

from holdfast.secret_text import redacted_bytes
from holdfast.supervise.child.buffered_writer import BackgroundWriter
from holdfast.supervise.child.capped_log import CappedLog
from holdfast.supervise.child.tensorflow_noise import TensorFlowNoiseFilter

_READ_BYTES = 256 * 1024
_LOG_RETRY_S = 5.0
_LONGEST_LINE = 8192  # a longer one is written as it comes
_TERMINAL_DRAIN_S = 5.0  # for the last output: after that a shell writes to the terminal again


_STATUS = struct.Struct("<QdQQi??")  # the fields of RelayStatus; written by the relay only
_KEYBOARD_OFFSET = 2048  # flags of one byte, far from the status: each has one writer at a time
_END_KNOWN_OFFSET = 2049


class RelayState:
    """A page of memory that the relay and the supervisor share: the status at its start, then two flags."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, mmap.PAGESIZE)
        self.write(RelayStatus(0, time.monotonic(), 0, 0, 0, False, False))

    def write(self, status: RelayStatus) -> None:
        _STATUS.pack_into(self._map, 0, *status)

    def read(self) -> RelayStatus:
        return RelayStatus(*_STATUS.unpack_from(self._map, 0))

    @property
    def keyboard(self) -> bool:
        """Whether the relay may read the user's terminal: only while the supervisor is in the foreground."""
        return self._map[_KEYBOARD_OFFSET] == 1

    @keyboard.setter
    def keyboard(self, may_read: bool) -> None:
        self._map[_KEYBOARD_OFFSET] = int(may_read)

    @property
    def end_known(self) -> bool:
        """Whether the supervisor saw the command end, so that the relay does not report an orphaned command."""
        return self._map[_END_KNOWN_OFFSET] == 1

    @end_known.setter
    def end_known(self, known: bool) -> None:
        self._map[_END_KNOWN_OFFSET] = int(known)


class RelayStatus(NamedTuple):
    output_bytes: int
    last_output: float  # monotonic
    log_lost_bytes: int
    not_shown_bytes: int
    log_errno: int
    ended: bool
    line_open: bool  # the screen is in the middle of a line, as within a progress bar


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
    filter_noise: bool = False  # TensorFlow's start-up lines go into the log only
    when_orphaned: Callable[[], None] = lambda: None
    when_ended_orphaned: Callable[[int], None] = lambda output_bytes: None


def start(config: RelayConfig, state: RelayState, *, close: tuple[int, ...] = ()) -> int:
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
        _Relay(config, state, supervisor).run()
        code = 0
    finally:
        os._exit(code)


_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}


class _Relay:
    def __init__(self, config: RelayConfig, state: RelayState, supervisor: int) -> None:
        self._config = config
        self._state = state
        self._supervisor = supervisor
        self._orphaned = False
        self._output_bytes = 0
        self._last_output = time.monotonic()
        self._line_open = False
        self._log = _log_writer(config.log)
        self._screens = {
            fd: BackgroundWriter(_writer(fd), gap_line=_not_shown)
            for fd in {s.screen for s in config.streams}
        }
        self._screen_of = {stream.source: self._screens[stream.screen] for stream in config.streams}
        filtered = config.streams if config.filter_noise else ()
        self._noise_filters = {stream.source: TensorFlowNoiseFilter() for stream in filtered}
        self._typed = b""  # not yet accepted by the child's terminal
        if config.terminal is not None:
            # A script that does not read what is typed must not stop its own output.
            os.set_blocking(config.terminal, False)

    def run(self) -> None:
        poll = select.poll()
        open_sources = set(self._screen_of)
        while open_sources:
            for source in open_sources:
                wants_room = self._typed and source == self._config.terminal
                poll.register(source, select.POLLIN | select.POLLOUT if wants_room else select.POLLIN)
            self._watch_keyboard(poll)
            events = poll.poll(500)
            if not events:
                self._log.put(b"")  # nothing comes: a line without an end is written too
            for fd, what in events:
                if fd == self._config.keyboard:
                    self._read_keyboard()
                if fd == self._config.terminal and what & select.POLLOUT:
                    self._write_typed()
                if fd in open_sources and what & ~select.POLLOUT and not self._read_output(fd):
                    poll.unregister(fd)
                    open_sources.discard(fd)
            self._watch_supervisor()
            self._write_status(ended=False)
        self._finish()

    def _read_output(self, source: int) -> bool:
        """Reads what is there; False at the end. A terminal ends in EIO when its last user closes it."""
        try:
            data = os.read(source, _READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        self._output_bytes += len(data)
        self._last_output = time.monotonic()
        self._log.put(data)
        noise = self._noise_filters.get(source)
        if shown := noise.shown(data) if noise is not None else data:
            self._screen_of[source].put(shown)
            self._line_open = not shown.endswith(b"\n")
        return True

    def _watch_keyboard(self, poll: select.poll) -> None:
        keyboard = self._config.keyboard
        if keyboard is None:
            return
        if self._state.keyboard and not self._orphaned and not self._typed:
            poll.register(keyboard, select.POLLIN)
        else:
            with contextlib.suppress(KeyError):
                poll.unregister(keyboard)

    def _read_keyboard(self) -> None:
        keyboard = self._config.keyboard
        if keyboard is None or os.getppid() != self._supervisor or not self._state.keyboard:
            return
        try:
            self._typed = os.read(keyboard, 4096)
        except OSError:
            self._typed = b""
        if self._typed:
            self._write_typed()
        else:
            self._state.keyboard = False

    def _write_typed(self) -> None:
        """As much as the terminal accepts; the rest waits, and the keyboard with it, as it would without us."""
        if self._config.terminal is None:
            return
        try:
            self._typed = self._typed[os.write(self._config.terminal, self._typed) :]
        except BlockingIOError:
            return
        except OSError:
            self._typed = b""
            self._state.keyboard = False

    def _watch_supervisor(self) -> None:
        if not self._orphaned and os.getppid() != self._supervisor:
            self._orphaned = True
            self._config.when_orphaned()

    def _write_status(self, *, ended: bool) -> None:
        error = self._log.error
        self._state.write(
            RelayStatus(
                self._output_bytes,
                self._last_output,
                self._log.lost_bytes,
                sum(screen.lost_bytes for screen in self._screens.values()),
                (error.errno or 5) if error is not None else 0,
                ended,
                self._line_open,
            )
        )

    def _finish(self) -> None:
        for source, noise in self._noise_filters.items():
            if rest := noise.rest():
                self._screen_of[source].put(rest)
        self._log.put(b"")
        self._log.finish(timeout_s=_TERMINAL_DRAIN_S)
        self._watch_supervisor()
        if self._orphaned and not self._state.end_known:
            self._config.when_ended_orphaned(self._output_bytes)
        for fd, screen in self._screens.items():
            if not screen.finish(timeout_s=_TERMINAL_DRAIN_S if _is_terminal(fd) else None):
                screen.drop_pending()
                screen.finish(timeout_s=None)
        self._log.finish(timeout_s=None)
        self._write_status(ended=True)


def _is_terminal(fd: int) -> bool:
    """A pipe or a file is waited for as long as it takes: nobody waits for this process."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def _writer(fd: int) -> Callable[[bytes], None]:
    """Somebody else may have made our screen non-blocking; then we wait until it accepts more."""

    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                select.select((), (fd,), ())

    return write


def _log_writer(path: Path) -> BackgroundWriter:
    """Opens the log when it can: a full or missing disk may be repaired later."""
    log: CappedLog | None = None
    lines = LogLines()
    with contextlib.suppress(OSError):
        log = CappedLog(path)

    def write(data: bytes) -> None:
        nonlocal log
        if log is None:
            log = CappedLog(path)
        if ready := lines.ready(data):
            log.write(ready)

    return BackgroundWriter(write, gap_line=_not_logged, retry_s=_LOG_RETRY_S)


class LogLines:
    """Output as it is recorded: without what looks like a secret, which is looked for in whole lines.

    A line without an end waits until more of it comes, or `ready` is called without any.
    """

    def __init__(self) -> None:
        self._begun = b""

    def ready(self, data: bytes) -> bytes:
        whole, self._begun = self._begun + data, b""
        end = max(whole.rfind(b"\n"), whole.rfind(b"\r")) + 1
        if data and len(whole) - end < _LONGEST_LINE:
            whole, self._begun = whole[:end], whole[end:]
        return redacted_bytes(whole)


def _not_shown(count: int) -> bytes:
    return f"\n[holdfast: {count} bytes were not shown here; output.log has them]\n".encode()


def _not_logged(count: int) -> bytes:
    return f"\n[holdfast: {count} bytes could not be written here]\n".encode()
