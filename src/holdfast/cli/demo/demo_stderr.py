"""Standard error for the commands of the demo, without the lines that TensorFlow prints at every start.

No setting of TensorFlow silences them: they come before its log is set up. A terminal stays a terminal, so that
colours are kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import sys
import termios
import threading

from holdfast.supervise.child.tensorflow_noise import TensorFlowNoiseFilter


class QuietStderr:
    """What a command writes to `fd` is copied to our standard error, line by line, without the noise."""

    def __init__(self) -> None:
        terminal = sys.stderr.isatty()
        self._source, self.fd = os.openpty() if terminal else os.pipe()
        if terminal:
            with contextlib.suppress(OSError):
                size = fcntl.ioctl(2, termios.TIOCGWINSZ, b"\0" * 8)
                fcntl.ioctl(self.fd, termios.TIOCSWINSZ, size)
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def close(self) -> None:
        os.close(self.fd)
        self._thread.join(timeout=5.0)
        os.close(self._source)

    def _copy(self) -> None:
        noise = TensorFlowNoiseFilter()
        while True:
            ready, _, _ = select.select([self._source], [], [], 0.2)
            if not ready:
                continue
            try:
                data = os.read(self._source, 65536)
            except OSError:  # the other side of the pseudo-terminal was closed
                data = b""
            os.write(2, noise.shown(data) if data else noise.rest())
            if not data:
                return
