"""A command as a target: the shell runs it with the message in its environment and on its standard input."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

from holdfast.notify.delivery import Refused, Unavailable
from holdfast.notify.notice import Notice

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def run_command(command: str, notice: Notice, *, timeout_s: float) -> None:
    """Raises Refused or Unavailable unless it ended with exit code 0."""
    try:
        child = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, **notice.variables()},
            start_new_session=True,  # so that all of it can be ended
        )
    except OSError as error:
        raise Unavailable(f"the shell could not be started: {error.strerror}") from None
    try:
        _, said = child.communicate(f"{notice.title}\n{notice.body}\n".encode(), timeout=timeout_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        raise Refused(f"it did not end within {timeout_s:g} s, and was ended") from None
    if child.returncode:
        lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
        ended = f"it ended with exit code {child.returncode}" + (f": {lines[-1][:200]}" if lines else "")
        final = child.returncode in (_NOT_FOUND, _NOT_EXECUTABLE)
        raise Refused(ended) if final else Unavailable(ended)
