"""What belongs to another user: said as what it is, by commands that this other user's own Python runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

import holdfast

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become somebody else"
)

SOMEBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
SOURCES = str(Path(holdfast.__file__).parents[1])
DENIED = "error[permission-denied]: permission denied: "
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def interpreter() -> str:
    """One that somebody else may start: root's own is often below /root."""
    environment = {"PYTHONPATH": SOURCES}
    for python in (sys.executable, *filter(None, map(shutil.which, ("python3", "/usr/bin/python3")))):
        code = "import sys, holdfast.cli.main, subprocess; subprocess.run([sys.executable, '-c', '']); print('yes')"
        tried = subprocess.run(
            [*SOMEBODY, python, "-c", code], cwd="/", env=environment, capture_output=True, text=True, check=False
        )  # fmt: skip
        if tried.stdout == "yes\n":
            return python
    pytest.skip("somebody else can run no Python that has Holdfast here")


@pytest.fixture
def somebody(tmp_path: Path, interpreter: str) -> Run:
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o755)

    def run(*words: str, python: str = interpreter) -> subprocess.CompletedProcess[str]:
        environment = {"PYTHONPATH": SOURCES, "HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}
        command = [*SOMEBODY, python, "-m", "holdfast", *words]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    return run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three of root's: as they are made, with all but the journal open, and open."""
    folder = tmp_path / "runs"
    command = [sys.executable, "-m", "holdfast", "run", "--run-dir", str(folder / "private"), "--"]
    subprocess.run(
        [*command, sys.executable, "-c", "raise ValueError(1)"], capture_output=True, timeout=PATIENCE_S
    )
    folder.chmod(0o755)
    for name in ("half", "open"):
        shutil.copytree(folder / "private", folder / name)
        for path in [folder / name, *(folder / name).rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / "half/journal.jsonl").chmod(0o600)
    return folder


def first_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.splitlines()[0] if done.stderr else ""


def test_a_run_that_may_not_be_read_is_no_run_that_was_killed(somebody: Run, runs: Path) -> None:
    for name in ("private", "half"):
        for command in (["explain"], ["report"], ["compare", "runs/open"]):
            done = somebody(*command, f"runs/{name}")
            assert (done.returncode, done.stdout) == (2, "")
            assert first_line(done) == f"{DENIED}runs/{name}/journal.jsonl"
    done = somebody("explain", "runs/open")
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        1,
        "verdict[script-error]: ValueError at <string>:1: 1",
    )


def test_top_has_a_row_for_what_may_not_be_read(somebody: Run, runs: Path) -> None:
    rows = somebody("top", "runs", "--once").stdout.splitlines()
    states = {words[0]: words[1] for row in rows if len(words := row.split()) > 1}
    assert {name: states[name] for name in ("private", "half", "open")} == {
        "private": "unreadable",
        "half": "unreadable",
        "open": "failed",
    }
    assert rows.count("  permission denied: its records belong to another user") == 2


def test_a_neighbour_of_another_user_changes_no_verdict(
    somebody: Run, runs: Path, tmp_path: Path, interpreter: str
) -> None:
    runs.chmod(0o777)
    done = somebody("run", "--run-dir", "runs/own", "--", interpreter, "-c", "raise KeyError(2)")
    assert done.returncode == 1
    assert "verdict[script-error]: KeyError at <string>:1: 2" in done.stderr
    assert (runs / "own").stat().st_mode & 0o777 == 0o700
    assert (runs / "own").stat().st_uid == 65534


def test_a_folder_that_may_not_be_written_to(somebody: Run, runs: Path, interpreter: str) -> None:
    done = somebody("run", "--", interpreter, "-c", "raise SystemExit(5)")
    assert done.returncode == 2
    folder = f"runs/{Path(interpreter).name}-1"
    said = " ".join(done.stderr.split())
    assert said.endswith(
        f"cannot be created: permission denied where {folder} change --run-dir with a writable folder"
    )
    assert not list(runs.glob("*-1"))
    done = somebody("report", "runs/open")
    assert (done.returncode, first_line(done)) == (2, f"{DENIED}runs/open/report.html")
    assert "--output" in done.stderr
