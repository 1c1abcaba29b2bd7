"""What several tests of the supervisor start from."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .running import HOLDFAST, child_pid


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts the supervisor in the background, and leaves nothing behind."""
    made: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*HOLDFAST, "--run-dir", "r", *words],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=(tmp_path / "out").open("wb"),
            stderr=(tmp_path / "err").open("wb"),
        )
        made.append(process)
        return process

    yield start
    for process in made:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
            os.kill(child_pid(tmp_path / "r"), signal.SIGKILL)
        process.kill()
        process.wait()
