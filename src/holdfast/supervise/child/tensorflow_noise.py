"""Keeps TensorFlow's start-up lines off the screen. `output.log` has every line of them.

TensorFlow 2.21 prints two lines about oneDNN before it reads its own log level, twice, and one more when it first meets
a type that oneDNN lacks on this CPU. They do not matter for a run, and no setting stops them. One filter, three uses:
the relay filters the command's streams, `filter_tensorflow_noise` this process's own standard error, and
`FilteredStderr` that of a command which is started without the relay.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import sys
import termios
import threading
from collections.abc import Iterator

_NOISE = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR|"
    rb"[IWE]\d{4} [\d:.]+ +\d+ (port|util|cpu_feature_guard)\.cc:\d+\] (oneDNN |This TensorFlow binary is optimized)"
)
_NOISE_PREFIXES = (b"WARNING: All log ", b"I0000 ", b"W0000 ", b"E0000 ")
_MAX_PARTIAL_LINE_BYTES = 1000  # buffered until the line is complete
_READ_BYTES = 1 << 16
_FLUSH_TIMEOUT_S = 2.0  # for the last bytes, where a process that was started still has the other end open


class TensorFlowNoiseFilter:
    """Of one stream. Only a line that begins like noise is buffered until its end; all else passes at once."""

    def __init__(self) -> None:
        self._partial_line = b""
        self._at_start = True

    def shown(self, data: bytes) -> bytes:
        """What of `data`, and of what was buffered before it, may be shown."""
        out = b""
        for line in (self._partial_line + data).splitlines(keepends=True):
            complete = line.endswith((b"\n", b"\r"))
            if self._at_start and _NOISE.match(line):
                self._partial_line = b"" if line.endswith(b"\n") else line  # a terminal ends it in two bytes
                continue
            short = not complete and len(line) < _MAX_PARTIAL_LINE_BYTES
            if self._at_start and short and _may_be_noise(line):
                self._partial_line = line
                return out
            self._partial_line = b""
            self._at_start = complete
            out += line
        return out

    def rest(self) -> bytes:
        """At the end: what was buffered and never became a line."""
        rest, self._partial_line = self._partial_line, b""
        return b"" if _NOISE.match(rest) else rest


def _may_be_noise(line: bytes) -> bool:
    return any(line.startswith(prefix) or prefix.startswith(line) for prefix in _NOISE_PREFIXES)


@contextlib.contextmanager
def filter_tensorflow_noise() -> Iterator[None]:
    """For a command that loads TensorFlow into its own process. HOLDFAST_DEBUG shows all.

    TensorFlow does not write through `sys.stderr`, so the descriptor is filtered.
    """
    if os.environ.get("HOLDFAST_DEBUG"):
        yield
        return
    sys.stderr.flush()
    screen, (read_end, write_end) = os.dup(2), os.pipe()
    os.dup2(write_end, 2)
    os.close(write_end)
    copying = threading.Thread(target=_copy_until_closed, args=(read_end, screen), daemon=True)
    copying.start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(screen, 2)
        copying.join(_FLUSH_TIMEOUT_S)


def _copy_until_closed(read_end: int, screen: int) -> None:
    _copy_filtered(read_end, screen)
    os.close(read_end)
    os.close(screen)


class FilteredStderr:
    """What a command writes to `fd` is copied to our standard error. A terminal stays a terminal, with its colours."""

    def __init__(self) -> None:
        terminal = sys.stderr.isatty()
        self._source, self.fd = os.openpty() if terminal else os.pipe()
        if terminal:
            with contextlib.suppress(OSError):
                size = fcntl.ioctl(2, termios.TIOCGWINSZ, b"\0" * 8)
                fcntl.ioctl(self.fd, termios.TIOCSWINSZ, size)
        self._thread = threading.Thread(target=_copy_filtered, args=(self._source, 2), daemon=True)
        self._thread.start()

    def close(self) -> None:
        os.close(self.fd)
        self._thread.join(timeout=5.0)
        os.close(self._source)


def _copy_filtered(source: int, screen: int) -> None:
    noise = TensorFlowNoiseFilter()
    while True:
        select.select([source], [], [])
        try:
            data = os.read(source, _READ_BYTES)
        except OSError:  # the other side of a pseudo-terminal was closed
            data = b""
        os.write(screen, noise.shown(data) if data else noise.rest())
        if not data:
            return
