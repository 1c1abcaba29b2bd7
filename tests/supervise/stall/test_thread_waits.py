"""What real processes wait for, whatever their language, and whether that has an end."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S, until

from holdfast.host import procfs
from holdfast.supervise.stack_capture import syscalls
from holdfast.supervise.stall.thread_waits import judge_tree, read_tree, sleeps
from holdfast.supervise.stall.wait_kinds import TreeWait, Wait


@contextlib.contextmanager
def running(*command: str, stdin: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL)
    try:
        yield child
    finally:
        for pid in [*procfs.descendants(child.pid), child.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.communicate()


def tree_of(child: subprocess.Popen[bytes]) -> TreeWait:
    return read_tree([child.pid, *procfs.descendants(child.pid)])


def settles(child: subprocess.Popen[bytes], wait: Wait) -> TreeWait:
    """The tree as soon as it is in this wait; starting takes a moment."""

    def settled() -> TreeWait | None:
        return found if (found := tree_of(child)).wait is wait else None

    return until(settled, f"the tree to be in the wait {wait}")


PYTHON = [sys.executable, "-I", "-S", "-c"]
LOCKED = "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()"
WORKS = "while True: pass"


def test_a_lock_that_nobody_releases() -> None:
    with running(*PYTHON, LOCKED) as child:
        assert settles(child, Wait.OPEN_ENDED).waits_on.startswith("futex")


def test_a_shell_waits_for_what_its_child_waits_for() -> None:
    with running("sh", "-c", f"{sys.executable} -I -S -c '{LOCKED}'; true") as child:
        settles(child, Wait.OPEN_ENDED)
    with running("sh", "-c", "sleep 6000; true") as child:
        limit_s = settles(child, Wait.SLEEP).time_limit_s
        assert limit_s is not None and 0 < limit_s <= 6000
    with running("sh", "-c", f"{sys.executable} -I -S -c '{WORKS}'; true") as child:
        until(lambda: procfs.descendants(child.pid), "the child of the shell")
        assert {tree_of(child).wait for _ in range(20)} <= {Wait.UNKNOWN}


def test_a_pipe_between_two_processes_is_led_by_the_writer() -> None:
    with running("sh", "-c", "sleep 6000 | cat; true") as child:
        settles(child, Wait.SLEEP)
    with running("sh", "-c", f"{sys.executable} -I -S -c '{LOCKED}' | cat; true") as child:
        settles(child, Wait.OPEN_ENDED)


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
def test_a_file_lock_that_somebody_else_has(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code = "open(my $f, '>', $ARGV[0]); flock($f, 2)"
        with running("perl", "-e", code, str(tmp_path / "lock")) as child:
            assert settles(child, Wait.OPEN_ENDED).waits_on.startswith("flock")


def test_a_lock_is_no_wait_for_a_child(tmp_path: Path) -> None:
    """A forked child has inherited the lock, and sleeps."""
    code = (
        "import fcntl, os, sys, time\n"
        "fcntl.flock(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)\n"
        "if os.fork() == 0: time.sleep(6000)\n"
        "fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX)"
    )
    with running(*PYTHON, code, str(tmp_path / "lock")) as child:

        def at_the_lock() -> TreeWait | None:
            return found if (found := tree_of(child)).waits_on.startswith("flock") else None

        assert until(at_the_lock, "the lock").wait is not Wait.SLEEP


def test_a_fifo_that_nobody_writes_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with running("cat", str(tmp_path / "fifo")) as child:
        settles(child, Wait.OPEN_ENDED)


@pytest.mark.parametrize(
    "code",
    ["s.accept()", "select.select([s], [], [])", "p = select.poll(); p.register(s); p.poll()",
     "e = select.epoll(); e.register(s); e.poll()"],
)  # fmt: skip
def test_a_server_waits_for_clients(code: str) -> None:
    with running(
        *PYTHON, "import select, socket; s = socket.create_server(('127.0.0.1', 0)); " + code
    ) as child:
        settles(child, Wait.CLIENT)


def test_the_other_end_of_a_connection_is_somebody_elses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with running(
            *PYTHON, f"import socket; socket.create_connection(('127.0.0.1', {port})).recv(1)"
        ) as child:
            connection, _ = server.accept()
            assert settles(child, Wait.REMOTE).blocked_for_s is not None
            connection.close()


@pytest.mark.parametrize(
    ("code", "limit_s"),
    [
        ("import time; time.sleep(6000)", 6000),
        ("import select; select.select([], [], [], 6000)", 6000),
    ],
)
def test_a_sleep_has_an_end(code: str, limit_s: float) -> None:
    with running(*PYTHON, code) as child:
        found = settles(child, Wait.SLEEP).time_limit_s
        assert found is not None and limit_s / 2 < found <= limit_s


def test_a_wait_with_a_time_limit_has_an_end() -> None:
    code = "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire(timeout=6000)"
    with running(*PYTHON, code) as child:
        found = settles(child, Wait.TIMED).time_limit_s
        assert found is not None and 3000 < found <= 6000


def test_a_thread_that_wakes_up_by_itself_may_wake_the_others() -> None:
    code = "import threading, time; threading.Thread(target=time.sleep, args=(6000,)).start(); " + LOCKED
    with running(*PYTHON, code) as child:
        until(lambda: len(procfs.threads(child.pid)) == 2, "the thread")
        (helper,) = (thread for thread in procfs.threads(child.pid) if thread != child.pid)

        def main_is_locked() -> bool:
            call = syscalls.current_syscall(child.pid, helper)
            asleep = call is not None and call.name.endswith("nanosleep")
            return asleep and read_tree([child.pid], helpers=frozenset({helper})).wait is Wait.OPEN_ENDED

        until(main_is_locked, "the lock of the main thread beside a thread that sleeps")
        assert tree_of(child).wait is Wait.UNKNOWN


def test_the_commands_own_input_is_a_persons() -> None:
    """The pipe at our own standard input is the one that the command reads."""
    code = (
        "import os, subprocess, sys\n"
        "from holdfast.supervise.stall.thread_waits import read_tree\n"
        "child = subprocess.Popen(['cat'], stdout=subprocess.DEVNULL)\n"
        "found = ''\n"
        "while found not in ('person', 'open-ended'): found = read_tree([child.pid]).wait.value\n"
        "child.kill(); child.wait(); print(found)"
    )
    read_end, write_end = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=read_end, capture_output=True, timeout=PATIENCE_S, text=True
        )
    finally:
        os.close(read_end)
        os.close(write_end)
    assert done.stdout == "person\n", done.stderr


ALL = (Wait.OPEN_ENDED, Wait.OPEN_ENDED)


@pytest.mark.parametrize(
    ("main", "others", "expected"),
    [
        (Wait.OPEN_ENDED, ALL, Wait.OPEN_ENDED),
        (Wait.OPEN_ENDED, (Wait.CLIENT,), Wait.OPEN_ENDED),  # a server in a thread does not help the training
        (Wait.OPEN_ENDED, (Wait.REMOTE,), Wait.UNKNOWN),
        (Wait.OPEN_ENDED, (Wait.TIMED,), Wait.UNKNOWN),
        (Wait.OPEN_ENDED, (Wait.UNKNOWN,), Wait.UNKNOWN),
        (Wait.SLEEP, ALL, Wait.SLEEP),
        (Wait.CLIENT, ALL, Wait.CLIENT),
        (Wait.REMOTE, ALL, Wait.REMOTE),
        (Wait.PERSON, ALL, Wait.PERSON),
        (Wait.UNKNOWN, ALL, Wait.UNKNOWN),
    ],
)
def test_the_main_thread_decides(main: Wait, others: tuple[Wait, ...], expected: Wait) -> None:
    waits = {(7, 7): main} | {(7, 8 + at): one for at, one in enumerate(others)}
    assert judge_tree(waits, [7]) is expected


def test_one_that_sleeps_beside_one_that_hangs_does_not_excuse_it() -> None:
    waits = {(7, 7): Wait.SLEEP, (8, 8): Wait.OPEN_ENDED}
    assert judge_tree(waits, [7, 8]) is Wait.UNKNOWN


def test_a_process_that_has_gone() -> None:
    with running("true") as child:
        child.wait()
        assert read_tree([child.pid]) == TreeWait()
    assert read_tree([]) == TreeWait()


@pytest.mark.parametrize(
    "code,asleep",
    [("time.sleep(6000)", True), ("threading.Event().wait()", False), ("[1 for _ in iter(int, 1)]", False)],
)
def test_whether_the_main_thread_sleeps(code: str, asleep: bool) -> None:
    with running(sys.executable, "-c", f"import time, threading; {code}") as child:
        if asleep:
            until(lambda: sleeps(child.pid), "the sleep")
        else:
            time.sleep(0.3)
            assert not sleeps(child.pid)
