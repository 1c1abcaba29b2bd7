"""Run one trial, bare or under `holdfast run`, and bring back what happened."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.journal import reader
from holdfast.journal.events import Stalled
from tests.announced import announced
from tests.waiting import PATIENCE_S

from . import names, world
from .trials import Trial

_NUMBERS = itertools.count(1)
_HOLDFAST = [sys.executable, "-m", "holdfast"]
_END_WITHIN_S = 20.0


@dataclass
class Outcome:
    trial: Trial
    exit_code: int | None = None  # as Popen has it: negative for a signal; None when the limit passed
    seconds: float = 0.0
    verdict: dict[str, Any] | None = None
    explain_s: float | None = None
    detected_s: float | None = None  # silence before the stall was told, where there was one
    announced: str = ""  # an alarm while it ran
    output: str = ""
    not_made: str = ""
    too_slow: bool = False  # the limit passed, and we ended it ourselves: its verdict is about us
    notes: list[str] = field(default_factory=list)


def run(
    trial: Trial,
    *,
    bare: bool = False,
    keep: Path | None = None,
    seed: int | None = None,
    python: str = sys.executable,
) -> Outcome:
    """`seed` renames the program and everything in it; `keep` is a folder to leave the run's record in.

    `python` runs the program; the supervisor always runs in ours.
    """
    outcome = Outcome(trial)
    number = f"{os.getpid()}-{next(_NUMBERS)}"
    renamed = f"script{seed}.py" if seed is not None else ""
    try:
        with (
            world.work_folder(trial, renamed=renamed) as (folder, program),
            world.control_groups(trial.world, number) as groups,
            world.standard_input(trial.world.stdin) as stdin,
            world.swap_space(trial.world.swap_mib),
        ):
            if seed is not None:
                program.write_text(names.rename(program.read_text(), seed))
            run_dir = (keep / folder_name(trial) if keep else folder / "run").absolute()
            for _ in range(2 if trial.twice else 1):
                (folder / "ready").unlink(missing_ok=True)
                _once(trial, folder, [python, program.name], groups, stdin, run_dir, outcome, bare=bare)
            if not bare:
                _explain(run_dir, outcome)
    except world.CannotMake as error:
        outcome.not_made = str(error)
    return outcome


def explain_again(trial: Trial, keep: Path) -> Outcome | None:
    """The verdict of today's Holdfast on a run that was kept; None when there is none, or it was asked while it ran."""
    folder = keep / folder_name(trial)
    if not folder.is_dir() or trial.explain_at_s is not None:
        return None
    outcome = Outcome(trial)
    _explain(folder, outcome)
    return outcome


def folder_name(trial: Trial) -> str:
    return trial.name.replace(" ", "_").replace("=", "-").replace("/", "-")


def _once(
    trial: Trial, folder: Path, command: list[str], groups: list[Path], stdin: int, run_dir: Path, outcome: Outcome,
    *, bare: bool,
) -> None:  # fmt: skip
    if not bare:
        _forget(run_dir)
        watch = ["run", "--run-dir", str(run_dir), "--on-stall", "stop"]
        if trial.stall_after_s is not None:
            watch += ["--stall-after", str(trial.stall_after_s)]
        command = [*_HOLDFAST, *watch, "--", *command]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **trial.environment}
    started = time.monotonic()
    child = subprocess.Popen(
        [*world.entering(groups, trial.world.limits), *command], cwd=folder, env=environment, stdin=stdin,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    lines: list[bytes] = []
    drain = threading.Thread(target=lambda: lines.extend(iter(child.stdout.readline, b"")), daemon=True)  # type: ignore[union-attr]
    drain.start()
    try:
        _accompany(trial, folder, child, run_dir, outcome, bare=bare)
        outcome.exit_code = _wait(child, started + trial.limit_s)
        if outcome.exit_code is None:
            outcome.too_slow = True
            outcome.notes.append(f"still running after {trial.limit_s:.0f} s")
    finally:
        outcome.seconds = time.monotonic() - started
        _end(child, folder)
        drain.join(PATIENCE_S)
        outcome.output = b"".join(lines).decode(errors="replace")


def _accompany(
    trial: Trial, folder: Path, child: subprocess.Popen[bytes], run_dir: Path, outcome: Outcome, *, bare: bool
) -> None:
    """Do from outside what the world does: send a signal when the program says it is ready; ask while it runs."""
    if not (trial.world.send or trial.explain_at_s is not None):
        return
    ready = folder / "ready"
    give_up = time.monotonic() + trial.limit_s
    while child.poll() is None and time.monotonic() < give_up and not (ready.exists() and ready.read_text()):
        time.sleep(0.05)
    if child.poll() is not None or not ready.exists():
        outcome.notes.append("the program never got ready")
        return
    if trial.world.send:
        to, number = trial.world.send.get("to", "program"), signal.Signals[trial.world.send["signal"]]
        if to == "group":
            os.killpg(child.pid, number)
            if not bare:  # a terminal's Ctrl-C reaches the watched program too, which has a group of its own
                _send(int(ready.read_text()), number)
        else:
            _send(child.pid if to == "command" else int(ready.read_text()), number)
    if trial.explain_at_s is not None:
        time.sleep(trial.explain_at_s)
        if not bare:
            _explain(run_dir, outcome)
        _end(child, folder)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _wait(child: subprocess.Popen[bytes], until: float) -> int | None:
    try:
        return child.wait(timeout=max(1.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _end(child: subprocess.Popen[bytes], folder: Path) -> None:
    """Politely, so that the supervisor can end its own child; then by force, whatever is below us."""
    if child.poll() is None:
        child.terminate()
        _wait(child, time.monotonic() + _END_WITHIN_S)
    for pid in at_work_in(folder):
        _send(pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(PATIENCE_S)


def at_work_in(folder: Path) -> list[int]:
    """Processes whose current folder is this trial's own: nobody else works there."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "cwd").readlink().is_relative_to(folder):
                    found.append(int(entry.name))
    return found


def _explain(run_dir: Path, outcome: Outcome) -> None:
    if outcome.verdict is not None:
        return
    outcome.announced = announced(run_dir)
    started = time.monotonic()
    done = subprocess.run(
        [*_HOLDFAST, "explain", str(run_dir), "--json"],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    outcome.explain_s = time.monotonic() - started
    try:
        outcome.verdict = json.loads(done.stdout)
    except ValueError:
        outcome.notes.append(f"explain gave no JSON: {(done.stderr or done.stdout).strip()[-400:]}")
    outcome.detected_s = _silence(run_dir)


def _silence(run_dir: Path) -> float | None:
    with contextlib.suppress(OSError):
        for entry in reader.read(run_dir / "journal.jsonl"):
            if isinstance(entry.event, Stalled):
                return entry.event.silent_for_s
    return None


def _forget(run_dir: Path) -> None:
    """A second run of a trial writes its record anew."""
    shutil.rmtree(run_dir, ignore_errors=True)
