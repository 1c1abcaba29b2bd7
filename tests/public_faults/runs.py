"""Run one working copy, bare or under `holdfast run`, and bring back what happened."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .programs import Program
from .working_copy import make

_HOLDFAST = [sys.executable, "-m", "holdfast"]


@dataclass
class Outcome:
    program: Program
    exit_code: int | None = None  # None: the limit passed
    wall_s: float = 0.0
    cpu_s: float = 0.0
    verdict: dict[str, Any] | None = None
    output: str = ""
    not_made: str = ""


def run(program: Program, sources: Path, *, bare: bool, keep: Path | None, limit_s: float) -> Outcome:
    outcome = Outcome(program, not_made=program.does_not_run)
    if outcome.not_made:
        return outcome
    with tempfile.TemporaryDirectory(prefix="public-faults-") as folder:
        try:
            copy, current = make(program, sources, Path(folder) / "program")
        except (OSError, SyntaxError, ValueError) as error:
            outcome.not_made = f"no working copy: {error}"
            return outcome
        run_dir = Path(folder) / "run"
        if keep:
            run_dir = keep / program.key / "run"  # a folder of its own: runs next to each other are compared
            shutil.rmtree(run_dir, ignore_errors=True)
            run_dir.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(copy.relative_to(current))]
        if not bare:
            command = [*_HOLDFAST, "run", "--run-dir", str(run_dir), "--on-stall", "stop", "--", *command]
        _accompany(outcome, command, current, limit_s)
        if not bare:
            outcome.verdict = explain(run_dir)
    return outcome


def _accompany(outcome: Outcome, command: list[str], folder: Path, limit_s: float) -> None:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "MPLBACKEND": "Agg"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = child.communicate(timeout=limit_s)
        outcome.exit_code = child.returncode
    except subprocess.TimeoutExpired:
        output = _end(child)
    outcome.wall_s = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    outcome.cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    outcome.output = output.decode(errors="replace")


def _end(child: subprocess.Popen[bytes]) -> bytes:
    """Politely first: the supervisor then ends its own child."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.communicate(timeout=30)[0]
    return b""


def explain(run_dir: Path) -> dict[str, Any] | None:
    done = subprocess.run(
        [*_HOLDFAST, "explain", str(run_dir), "--json"],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    try:
        verdict: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return None
    return verdict
