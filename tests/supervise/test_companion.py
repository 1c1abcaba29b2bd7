"""The companion process of a notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.journal.folder import RunFolder
from holdfast.supervise import companion
from holdfast.supervise.recording.recorder import Recorder


class FailingMonitor:
    """Stands in for the monitor: counts the ticks, and fails at each."""

    every_s = 0.05

    def __init__(self, then: Callable[[int], None]) -> None:
        self.count, self._then = 0, then

    def tick(self, *, now: float, at: float) -> None:
        self.count += 1
        self._then(self.count)
        raise ValueError("a file of /proc that nobody has seen before")


@pytest.mark.parametrize("pidfd", [True, False])
def test_the_companion_sees_the_process_go_whatever_the_kernel_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pidfd: bool
) -> None:
    """os.pidfd_open needs Linux 5.3, and a tick that fails must not end the monitoring."""
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    reading, writing = os.pipe()
    child = subprocess.Popen(["sleep", "600"])
    monitor = FailingMonitor(lambda count: child.kill() if count == 3 else None)
    said: list[str] = []
    recorder = Recorder(RunFolder(tmp_path), print_line=said.append)
    try:
        with os.fdopen(reading) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            assert companion.watch_until_block_ends(monitor, child.pid, recorder) is None
    finally:
        child.kill()
        child.wait()
        os.close(writing)
    assert monitor.count >= 3
    assert [line.partition(": Value")[0] for line in said] == [
        "holdfast: monitoring failed (a tick of the monitor"
    ]
