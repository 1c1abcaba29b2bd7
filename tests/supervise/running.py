"""Starts the real supervisor over real small children, and reads what it wrote."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from holdfast.journal import reader
from holdfast.journal.events import AttemptStarted, Event
from holdfast.journal.folder import RunFolder
from tests.waiting import PATIENCE_S, until

HOLDFAST = [sys.executable, "-m", "holdfast", "run"]

#: Waits in a program under test. One long sleep would miss a signal that arrives just before it begins.
WAIT = "[time.sleep(0.1) for _ in range(6000)]"


def run(*words: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*HOLDFAST, *words],
        cwd=cwd,
        env=dict(os.environ),  # without what readline has put into pytest's own environment
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def python(code: str) -> list[str]:
    return ["--", sys.executable, "-c", code]


def events(run_dir: Path) -> list[Event]:
    return [entry.event for entry in reader.read(RunFolder(run_dir).journal)]


def only(run_dir: Path, kind: type[Event]) -> Event:
    (found,) = [event for event in events(run_dir) if isinstance(event, kind)]
    return found


def child_pid(run_dir: Path) -> int:
    """The command may be at work before its start is in the journal."""
    until(lambda: any(isinstance(one, AttemptStarted) for one in events(run_dir)), "the record of the start")
    event = only(run_dir, AttemptStarted)
    assert isinstance(event, AttemptStarted)
    return event.pid


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "gone"


def at_work_in(folder: Path) -> list[int]:
    """Processes whose current folder is this one: nobody else works there."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (
                entry.name.isdigit()
                and (entry / "cwd").readlink() == folder
                and state(int(entry.name)) != "Z"
            ):
                found.append(int(entry.name))
    return found
