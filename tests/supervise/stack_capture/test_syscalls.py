"""What a thread waits for, by its system call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import until

from holdfast.journal.folder import RunFolder
from holdfast.supervise.stack_capture import syscalls
from holdfast.supervise.stack_capture.syscalls import SystemCall
from holdfast.supervise.stall import closer_look


def test_what_a_thread_waits_for_is_named_with_its_file(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "print(1, flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == b"1\n"
        until(
            lambda: syscalls.describe_syscall(
                child.pid, syscalls.current_syscall(child.pid, child.pid)
            ).startswith("read fd=0 (pipe:"),
            "the read of standard input",
        )
        assert closer_look.look(child.pid, [child.pid], RunFolder(tmp_path), with_stack=False).reads_terminal
    finally:
        child.communicate(b"\n")


FOREVER = SystemCall("futex", (1, 0x189, 0, 0, 0, 0))


TIMED = SystemCall("futex", (1, 0x189, 0, 0x7FFC0000, 0, 0))


def test_a_futex_without_a_time_limit_waits_for_ever() -> None:
    assert not FOREVER.timed and TIMED.timed
    assert syscalls.parse_syscall("202 0x5560 0x189 0x0 0x0 0x0 0xffffffff 0x7ffe 0x7fbc") == SystemCall(
        "futex", (0x5560, 0x189, 0, 0, 0, 0xFFFFFFFF)
    )
    assert syscalls.parse_syscall("running") is None
    assert not SystemCall("epoll_wait", (4, 0, 64, 0xFFFFFFFFFFFFFFFF, 0, 0)).timed
    assert SystemCall("epoll_wait", (4, 0, 64, 500, 0, 0)).timed


@pytest.mark.parametrize(
    "sleep", ["import time; time.sleep(6000)", "import select; select.select([], [], [], 6000)"]
)
def test_it_is_known_when_a_sleep_ends(sleep: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", f"print(1, flush=True); {sleep}"], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline() == b"1\n"
        left_s = None
        while left_s is None and child.poll() is None:
            left_s = syscalls.sleep_left_s(child.pid, syscalls.current_syscall(child.pid, child.pid))
        assert left_s is not None and 3000 < left_s <= 6000
    finally:
        child.kill()
        child.communicate()


def test_a_read_is_no_sleep() -> None:
    assert syscalls.sleep_left_s(1, SystemCall("read", (0, 0, 0, 0, 0, 0))) is None
    assert syscalls.sleep_left_s(1, None) is None
