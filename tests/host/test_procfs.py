"""Reading /proc."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from tests.waiting import until

from holdfast.host import procfs


def test_a_process_name_with_brackets_and_spaces() -> None:
    text = b"12 (a) b (c) S 1 12 12 0 -1 0 0 0 7 0 150 50 0 0 20 0 3 0 999 4096000 25 " + b"0 " * 30
    found = procfs.parse_stat(text)
    assert found is not None
    assert (found.pid, found.name, found.state, found.parent, found.major_faults) == (
        12,
        "a) b (c",
        "S",
        1,
        7,
    )
    assert (found.user_s, found.system_s, found.threads, found.started_ticks) == (1.5, 0.5, 3, 999)
    assert found.rss_bytes == 25 * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("work", "runs"),
    [("hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)", True), ("threading.Event().wait()", False)],
)
def test_a_thread_that_computes_while_the_main_thread_waits(work: str, runs: bool) -> None:
    script = f"import hashlib, threading\nthreading.Thread(target=lambda: {work}).start()"
    with subprocess.Popen([sys.executable, "-c", script]) as child:
        try:
            until(
                lambda: procfs.has_runnable_thread(child.pid) == runs and _waits(child.pid),
                "the main thread to wait",
            )
        finally:
            child.kill()


def test_a_process_that_is_gone_has_no_runnable_thread() -> None:
    assert not procfs.has_runnable_thread(2**31 - 2)


def _waits(pid: int) -> bool:
    found = procfs.stat(pid, pid)
    return found is not None and found.state == "S"


def test_a_child_of_a_thread_is_found() -> None:
    found: list[int] = []

    def start() -> None:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        found.append(child.pid)
        seen.append(child.pid in procfs.descendants(os.getpid()))
        child.communicate(b"\n")

    seen: list[bool] = []
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert seen == [True]


def test_a_process_that_is_gone_is_none() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert procfs.stat(child.pid) is None
    assert procfs.io(child.pid) == {}


def test_the_words_of_a_program_that_has_just_started() -> None:
    for _ in range(100):
        with subprocess.Popen(["sleep", "600"]) as child:
            words = procfs.arguments(child.pid)
            child.kill()
        assert words == ["sleep", "600"]


def test_a_program_whose_words_are_not_laid_out_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([*[b""] * 60, b"sleep\x00600\x00"])
    real = procfs.read
    monkeypatch.setattr(procfs, "read", lambda path: next(looks) if path.endswith("cmdline") else real(path))
    assert procfs.arguments(os.getpid()) == ["sleep", "600"]


def test_a_program_that_has_started_and_has_no_words_is_not_looked_at_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []
    real = procfs.read

    def without_words(path: str) -> bytes | None:
        if not path.endswith("cmdline"):
            return real(path)
        looks.append(path)
        return b""

    with subprocess.Popen(["sleep", "600"]) as child:
        until(lambda: _waits(child.pid), "its sleep")
        monkeypatch.setattr(procfs, "read", without_words)
        assert procfs.arguments(child.pid) == []
        child.kill()
    assert len(looks) < 30


def test_a_process_that_has_ended_has_no_words() -> None:
    ended = subprocess.Popen(["true"])
    until(lambda: getattr(procfs.stat(ended.pid), "state", "") == "Z", "its end")
    assert procfs.arguments(ended.pid) == []
    ended.wait()
    assert procfs.command_line(ended.pid) == ""


@pytest.mark.parametrize(
    ("code", "status"), [("pass", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9)]
)
def test_how_a_process_ended_that_nobody_has_waited_for(code: str, status: int) -> None:
    with subprocess.Popen([sys.executable, "-c", code]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert procfs.exit_status(child.pid) == status
    assert procfs.exit_status(child.pid) is None
    assert procfs.exit_status(os.getpid()) is None
