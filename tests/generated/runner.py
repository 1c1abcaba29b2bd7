"""Runs one program in a folder of its own, bare or under `holdfast run`, in the environment that its fault needs."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.zoo import world
from tests.zoo.runs import at_work_in

from .draw import Program

_HOLDFAST = [sys.executable, "-m", "holdfast"]
_TRAINING = re.compile(rb"(?i)epoch|loss|step")
_NUMBERS = itertools.count(1)
_END_WITHIN_S = 20.0


@dataclass
class Outcome:
    program: Program
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    verdict: dict[str, Any] | None = None
    too_slow: bool = False  # the limit passed, and the runner ended it
    notes: list[str] = field(default_factory=list)


def write(program: Program, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / program.file
    path.write_text(program.text)
    return path


def run(program: Program, *, keep: Path | None = None, bare: bool = False) -> Outcome:
    """`keep` gets a folder for the program with its work folder, its output and the run folder."""
    outcome = Outcome(program)
    place = (keep / program.name if keep else Path(tempfile.mkdtemp(prefix="generated-"))).absolute()
    shutil.rmtree(place, ignore_errors=True)
    work = place / "work"
    write(program, work)
    try:
        with _around(program, work) as (groups, stdin):
            _once(program, work, place / "run", groups, stdin, outcome, bare=bare)
        if not bare:
            _explain(place / "run", outcome)
        (place / "output.txt").write_text(outcome.output)
    except world.CannotMake as error:
        outcome.notes.append(f"not made: {error}")
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)
    return outcome


@contextlib.contextmanager
def _around(program: Program, work: Path) -> Iterator[tuple[list[Path], int]]:
    """Files that exist before, a small disk, a FIFO, control groups, a standard input."""
    draft = program.draft
    small = work / "small"
    with contextlib.ExitStack() as stack:
        if draft.prepare:
            _prepare(draft.fill(draft.prepare), work)
        if draft.around.startswith("fifo:"):
            os.mkfifo(work / draft.around.partition(":")[2])
        if draft.world.tmpfs_mib:
            small.mkdir()
            world._do("mount", "-t", "tmpfs", "-o", f"size={draft.world.tmpfs_mib}m", "generated", str(small))
            stack.callback(subprocess.run, ["umount", "-l", str(small)], check=False)
        groups = stack.enter_context(
            world.control_groups(draft.world, f"generated-{os.getpid()}-{next(_NUMBERS)}")
        )
        stdin = stack.enter_context(world.standard_input(draft.world.stdin))
        yield groups, stdin


def _prepare(text: str, work: Path) -> None:
    script = work / "prepare_files.py"
    script.write_text(text)
    done = subprocess.run(
        [sys.executable, script.name], cwd=work, capture_output=True, text=True, check=False, timeout=120
    )
    script.unlink()
    if done.returncode:
        raise world.CannotMake(f"its files: {done.stderr[-500:]}")


def _once(
    program: Program,
    work: Path,
    run_dir: Path,
    groups: list[Path],
    stdin: int,
    outcome: Outcome,
    *,
    bare: bool,
) -> None:
    command = [sys.executable, program.file]
    if not bare:
        command = [*_HOLDFAST, "run", "--run-dir", str(run_dir), "--on-stall", "stop", "--", *command]
    started = time.monotonic()
    # One thread for each operation: torch with more of them crawls on a busy machine.
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(
        [*world.entering(groups, program.draft.world.limits), *command], cwd=work, stdin=stdin, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True, env=environment,
    )  # fmt: skip
    chunks: list[bytes] = []
    drain = threading.Thread(
        target=lambda: chunks.extend(iter(lambda: os.read(child.stdout.fileno(), 65536), b"")), daemon=True
    )  # type: ignore[union-attr]
    drain.start()
    try:
        _send(program, work, child, chunks, started + program.limit_s)
        outcome.exit_code = child.wait(timeout=max(1.0, started + program.limit_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        outcome.too_slow = True
        outcome.notes.append(f"still running after {program.limit_s:.0f} s")
    finally:
        outcome.seconds = time.monotonic() - started
        end(child, work)
        drain.join(timeout=5)
        outcome.output = b"".join(chunks).decode(errors="replace")


def _send(
    program: Program, work: Path, child: subprocess.Popen[bytes], chunks: list[bytes], until: float
) -> None:
    """A signal, some seconds after the training's first output."""
    send = program.draft.send
    if send is None:
        return
    while not _TRAINING.search(b"".join(chunks)):
        if child.poll() is not None or time.monotonic() > until:
            return
        time.sleep(0.1)
    time.sleep(send.after_s)
    number = signal.Signals[send.signal]
    # A kill meets the program itself; any other signal reaches whatever was started at the top.
    target = child.pid if number != signal.SIGKILL else program_in(work, program.file)
    with contextlib.suppress(ProcessLookupError):
        os.kill(target, number)


def program_in(work: Path, file: str) -> int:
    """The process that runs `file` in this folder."""
    for pid in at_work_in(work):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if len(words) > 1 and words[1] == file.encode():
                return pid
    raise ProcessLookupError(file)


def end(child: subprocess.Popen[bytes], work: Path) -> None:
    """Politely, so that the supervisor can end its own child; then by force, what works in this folder."""
    if child.poll() is None:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_END_WITHIN_S)
    for pid in at_work_in(work):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=5)


def _explain(run_dir: Path, outcome: Outcome) -> None:
    done = subprocess.run(
        [*_HOLDFAST, "explain", str(run_dir), "--json"],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    try:
        outcome.verdict = json.loads(done.stdout)
    except ValueError:
        outcome.notes.append(f"explain gave no JSON: {(done.stderr or done.stdout).strip()[-300:]}")
