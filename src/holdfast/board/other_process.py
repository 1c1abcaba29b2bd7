"""Verdicts, comparisons and reports, each by the command that prints it, in a process of its own.

They read whole folders. A folder that is damaged, huge or hostile then costs one process, which has limits of time and
memory, and the board's own memory stays small.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

LIMIT_S = 60.0
_MEMORY_BYTES = 4 << 30
_ANSWER_BYTES = 64 << 20
_AT_ONCE = threading.BoundedSemaphore(2)


class NoAnswer(Exception):
    """Why there is none, in a sentence."""


def explain(run: Path) -> dict[str, Any]:
    """What `holdfast explain --json` prints."""
    return _object(_holdfast("explain", str(run), "--json"))


def compare(old: Path, new: Path) -> dict[str, Any]:
    """What `holdfast compare --json` prints."""
    return _object(_holdfast("compare", str(old), str(new), "--json"))


def report(run: Path) -> bytes:
    """The page that `holdfast report` writes; here into a folder of its own, never into the run's."""
    with tempfile.TemporaryDirectory(prefix="holdfast-board-") as folder:
        page = Path(folder) / "report.html"
        _holdfast("report", str(run), "--output", str(page))
        with page.open("rb") as file:
            return file.read(_ANSWER_BYTES)


def _object(printed: bytes) -> dict[str, Any]:
    try:
        found = json.loads(printed)
    except (ValueError, RecursionError) as error:
        raise NoAnswer("the answer could not be read") from error
    return found if isinstance(found, dict) else {}


def _holdfast(*arguments: str) -> bytes:
    command = [sys.executable, "-m", "holdfast", *arguments]
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    if not _AT_ONCE.acquire(timeout=LIMIT_S):
        raise NoAnswer("other runs are being explained, and take long")
    try:
        return _run(command, environment)
    finally:
        _AT_ONCE.release()


def _run(command: list[str], environment: dict[str, str]) -> bytes:
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as printed:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=printed, stderr=said, env=environment
        )
        try:
            _limit(child.pid)
            code = child.wait(LIMIT_S)
        except subprocess.TimeoutExpired as error:
            raise NoAnswer(
                f"no answer within {LIMIT_S:.0f} s: the folder is large, or does not answer"
            ) from error
        finally:
            if child.poll() is None:
                child.kill()
                with contextlib.suppress(subprocess.TimeoutExpired):  # one that waits for a dead disk stays
                    child.wait(2.0)
        if code not in (0, 1):
            said.seek(0)
            raise NoAnswer(_last_words(said.read(20_000)) or f"it ended with code {code}")
        printed.seek(0)
        return printed.read(_ANSWER_BYTES)


def _limit(pid: int) -> None:
    try:
        resource.prlimit(pid, resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (2 * _ANSWER_BYTES, 2 * _ANSWER_BYTES))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (256, 256))
    except (OSError, ValueError):  # it has ended, or the limits are lower already
        return


def _last_words(said: bytes) -> str:
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    first = next((line for line in lines if line.startswith("error[")), lines[-1] if lines else "")
    return first[:400]
