"""Since when nothing of a process has run; and reading its stacks without waking it."""

from __future__ import annotations

import time
from pathlib import Path

from holdfast.supervise.attach import idle
from holdfast.supervise.stack_capture import pyspy
from tests.waiting import until

from .programs import DEADLOCK, WORKS, running

#: The main thread waits for good, and another one looks at a flag ten times a second.
POLLS = """
import sys, threading, time
threading.Thread(target=lambda: [time.sleep(0.1) for _ in range(6000)], daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
"""


def idle_for(pid: int) -> float:
    found = idle.idle_for([pid], pid, idle.by_thread([pid]))
    assert found is not None
    return found


def idles(pid: int, what: str) -> None:
    """A look may wake what it looks at: there are two seconds before each."""
    until(lambda: time.sleep(2.0) or idle_for(pid) > 1.0, what)


def test_the_time_since_its_threads_ran_grows(tmp_path: Path) -> None:
    with running(DEADLOCK, tmp_path) as program:
        idles(program.pid, "a second in which nothing ran")
        first = idle_for(program.pid)
        time.sleep(1.0)
        assert idle_for(program.pid) > first + 0.8  # the first look has woken nothing


def test_a_thread_that_looks_at_a_flag_does_not_count(tmp_path: Path) -> None:
    with running(POLLS, tmp_path) as program:
        idles(program.pid, "a second in which the main thread did not run")


def test_a_process_that_computes_has_just_run(tmp_path: Path) -> None:
    with running(WORKS, tmp_path) as program:
        until(lambda: idle_for(program.pid) < 1.0, "a moment in which it gets a processor")


def test_stacks_of_a_process_that_waits_are_read_without_a_pause(tmp_path: Path) -> None:
    with running(DEADLOCK, tmp_path) as program:
        idles(program.pid, "both threads to wait for each other")
        before = idle.by_thread([program.pid])[program.pid, program.pid]
        threads = {thread.name: thread for thread in pyspy.dump_gently(program.pid)}
        assert idle.by_thread([program.pid])[program.pid, program.pid] >= before
        assert threads["other"].frames[0].function == "other"
        assert threads["MainThread"].frames[0].function == "<module>"


def test_stacks_of_a_process_that_runs_are_read_too(tmp_path: Path) -> None:
    with running(WORKS, tmp_path) as program:
        for _ in range(3):
            main = next(thread for thread in pyspy.dump_gently(program.pid) if thread.tid == program.pid)
            assert main.frames and main.frames[-1].function == "<module>"
