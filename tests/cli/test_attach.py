"""`holdfast attach` as a person meets it, on real processes."""

from __future__ import annotations

import contextlib
import ctypes
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.supervise.attach.programs import DEADLOCK, READS, WITH_FRAMEWORK, WORKS, running
from tests.waiting import PATIENCE_S, until

from holdfast.explain import explain
from holdfast.explain.finding import Outcome
from holdfast.host import ptrace_access
from holdfast.journal import reader
from holdfast.journal.events import (
    AttemptEnded,
    Event,
    ProcessObserved,
    RunClosed,
    RunOpened,
    Stalled,
    WatchLimited,
)
from holdfast.journal.folder import RunFolder
from holdfast.report import overview

ATTACH = [sys.executable, "-m", "holdfast", "attach"]


def attach(pid: int, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ATTACH, str(pid), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def events(run_dir: Path) -> list[Event]:
    return [entry.event for entry in reader.read(RunFolder(run_dir).journal)]


def one(run_dir: Path, kind: type[Event]) -> Event:
    (found,) = [event for event in events(run_dir) if isinstance(event, kind)]
    return found


def test_a_deadlock_is_named_and_the_process_is_unharmed(tmp_path: Path) -> None:
    with running(DEADLOCK, tmp_path) as program:
        done = attach(program.pid, tmp_path, "--run-dir", "r", "--stall-after", "2")
        assert done.returncode == 1, done.stderr
        assert program.process.poll() is None
        program.tell()
        assert program.process.wait(PATIENCE_S) == 0
        assert program.process.stdout is not None and program.process.stdout.read() == "done\n"
    first, second = done.stdout.splitlines()[:2]
    assert first.startswith(f"holdfast: process {program.pid} hangs: nothing of it has run for")
    assert second.startswith("verdict[deadlock]: ")
    line = DEADLOCK.splitlines().index("second.acquire()") + 1
    assert f"train.py:{line} in <module>: `second.acquire()`" in done.stdout
    assert "thread  other: train.py:7 in other: `with first:`" in done.stdout
    assert "without a time limit" in done.stdout
    run = tmp_path / "r"
    opened = one(run, RunOpened)
    assert isinstance(opened, RunOpened) and opened.watch == "attached" and opened.cwd == str(tmp_path)
    assert isinstance(one(run, Stalled), Stalled) and isinstance(one(run, WatchLimited), WatchLimited)
    closed = one(run, RunClosed)
    assert isinstance(closed, RunClosed) and closed.outcome == "left"
    verdict = explain(run)
    assert (verdict.outcome, verdict.findings[0].cause) == (Outcome.STALLED, "deadlock")
    assert overview.line(RunFolder(run)).state == "stalled"


def test_a_process_that_works_moves(tmp_path: Path) -> None:
    with running(WORKS, tmp_path) as program:
        done = attach(program.pid, tmp_path, "--json")
        assert program.process.poll() is None
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["outcome"] == "running" and said["findings"] == []
    assert said["now"]["moves"]
    assert said["now"]["threads"][0]["main"]
    (run,) = (tmp_path / "runs").iterdir()
    assert run.name == "train-1"
    observed = one(run, ProcessObserved)
    assert isinstance(observed, ProcessObserved) and observed.doing == "in the script's own code"


def test_what_waits_for_a_short_time_is_not_called_a_hang(tmp_path: Path) -> None:
    with running(READS, tmp_path) as program:
        done = attach(program.pid, tmp_path, "--stall-after", "600")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"holdfast: process {program.pid} waits: nothing moved")
    assert "reads pipe:" in done.stdout


@contextlib.contextmanager
def follows(pid: int, folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [*ATTACH, str(pid), "--follow", "--run-dir", "r"]
    following = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield following
    finally:
        following.kill()
        following.communicate()


@pytest.mark.parametrize("code", [0, 3])
def test_followed_to_its_end(tmp_path: Path, code: int) -> None:
    with running(WORKS, tmp_path) as program, follows(program.pid, tmp_path) as following:
        assert following.stdout is not None and following.stderr is not None
        assert "moves" in following.stdout.readline()
        program.tell(str(code))
        assert program.process.wait(PATIENCE_S) == code
        following.wait(PATIENCE_S)
        said = following.stderr.read()
    ended = one(tmp_path / "r", AttemptEnded)
    assert isinstance(ended, AttemptEnded)
    if ended.exit_code is None:  # before Linux 6.15
        assert "how it ended is known to its parent only" in said
        assert explain(tmp_path / "r").outcome == Outcome.ENDED
        return
    assert ended.exit_code == code
    assert f"ended with exit code {code}" in said
    assert following.returncode == (0 if code == 0 else 1)
    assert explain(tmp_path / "r").outcome == (Outcome.FINISHED if code == 0 else Outcome.FAILED)


def test_ctrl_c_leaves_the_process_as_it_was(tmp_path: Path) -> None:
    with running(WORKS, tmp_path) as program:
        with follows(program.pid, tmp_path) as following:
            assert following.stdout is not None and following.stderr is not None
            assert "moves" in following.stdout.readline()
            assert "watching process" in following.stderr.readline()
            following.send_signal(signal.SIGINT)
            assert following.wait(PATIENCE_S) == 130
            assert f"process {program.pid} keeps running" in following.stderr.read()
        assert program.process.poll() is None
        program.tell("0")
        assert program.process.wait(PATIENCE_S) == 0
    assert explain(tmp_path / "r").outcome == Outcome.RUNNING  # as it was when we left


def test_a_stall_is_told_while_following(tmp_path: Path) -> None:
    then_waits = WORKS.replace("sys.exit(", "sys.stdin.readline(); sys.exit(")
    with running(then_waits, tmp_path) as program:
        command = [*ATTACH, str(program.pid), "--follow", "--run-dir", "r", "--stall-after", "4"]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as following:
            assert following.stderr is not None
            assert "watching process" in following.stderr.readline()
            program.tell("0")
            assert "holdfast: stalled: " in following.stderr.readline()
            program.tell()
            assert program.process.wait(PATIENCE_S) == 0
            following.wait(PATIENCE_S)
    assert isinstance(one(tmp_path / "r", Stalled), Stalled)


def test_a_process_that_ends_in_between(tmp_path: Path) -> None:
    with running(WORKS, tmp_path) as program:
        command = [*ATTACH, str(program.pid), "--run-dir", "r"]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as attaching:
            until((tmp_path / "r" / "vitals.jsonl").exists, "the first sample")
            program.tell("0")
            assert attaching.wait(PATIENCE_S) == 2
            assert attaching.stderr is not None
            said = attaching.stderr.read()
    assert "error[no-such-process]" in said and "ended while it was being looked at" in said
    assert any(isinstance(event, AttemptEnded) for event in events(tmp_path / "r"))


@pytest.mark.skipif(not ptrace_access.may_trace_any(), reason="drops CAP_SYS_PTRACE to be without it")
def test_without_ptrace_it_says_what_to_type_and_shows_the_rest(tmp_path: Path) -> None:
    def drop() -> None:
        ctypes.CDLL(None).prctl(24, 19)  # PR_CAPBSET_DROP, CAP_SYS_PTRACE

    with running(DEADLOCK, tmp_path) as program:
        done = subprocess.run(
            [*ATTACH, str(program.pid), "--stall-after", "2"], cwd=tmp_path, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False, preexec_fn=drop,
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "not readable: this container has no CAP_SYS_PTRACE" in done.stdout
    for words in ("sudo holdfast attach", "--cap-add SYS_PTRACE", "kubectl debug"):
        assert words in done.stdout
    assert "hangs: nothing of it has run for" in done.stdout
    assert "steady" in done.stdout and f"{program.pid}, up" in done.stdout


def test_without_py_spy_it_says_so(tmp_path: Path) -> None:
    hide = (
        "from holdfast.supervise.stack_capture import pyspy\npyspy.program = lambda: None\n"
        "import sys\nfrom holdfast.cli.main import main\nsys.exit(main())\n"
    )
    with running(DEADLOCK, tmp_path) as program:
        done = subprocess.run(
            [sys.executable, "-c", hide, "attach", str(program.pid), "--stall-after", "2"],
            cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "py-spy is not installed; pip install py-spy" in done.stdout


def test_without_a_number_candidates_are_listed(tmp_path: Path) -> None:
    with running(WITH_FRAMEWORK, tmp_path) as program:
        done = subprocess.run(
            ATTACH, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        (tmp_path / "runs").mkdir()
        top = subprocess.run(
            [sys.executable, "-m", "holdfast", "top"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.returncode == 2
    assert "which process?" in done.stderr and f"{program.pid}  up" in done.stderr
    assert "training processes that nobody watches" in top.stdout
    assert any(line.strip().startswith(f"{program.pid}  up") for line in top.stdout.splitlines())
