"""Closer looks at real processes: waiting for input, deadlocked, blocked on a FIFO, compiling."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.waiting import until

from holdfast.host import procfs
from holdfast.journal.folder import RunFolder
from holdfast.journal.stack_files import Frame
from holdfast.supervise.stack_capture import syscalls
from holdfast.supervise.stack_capture.syscalls import SystemCall
from holdfast.supervise.stall import closer_look
from holdfast.supervise.stall.judgement import CloserLook
from holdfast.supervise.stall.phase_limits import StackActivity

NOWHERE = RunFolder(Path("/nowhere"))  # of a process without the probe


def _wait_for_input(pid: int, thread: int | None = None) -> None:
    """An interpreter that starts reads files too."""
    until(
        lambda: (
            (call := syscalls.current_syscall(pid, thread or pid)) is not None
            and (call.name, call.arguments[0]) == ("read", 0)
        ),
        "the read of standard input",
    )


PASSES_ON = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"


HELPED = "import subprocess, time\nsubprocess.Popen(['cat'], stdin=subprocess.PIPE)\ntime.sleep(6000)"


FED = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE).wait()"


@pytest.mark.parametrize(
    "code,trains,person",
    [
        (PASSES_ON, "child", True),  # what it reads is the command's own standard input
        (FED, "child", False),  # what it reads comes from its parent, not from a person
        (HELPED, "root", False),  # a helper that waits for work: ffmpeg, a language server
    ],
)
def test_only_the_trainer_at_the_commands_own_input_waits_for_a_person(
    code: str, trains: str, person: bool
) -> None:
    root = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        below = until(lambda: procfs.descendants(root.pid), "the child")
        _wait_for_input(below[0])
        trainer = below[0] if trains == "child" else root.pid
        assert (
            closer_look.look(trainer, [root.pid, *below], NOWHERE, with_stack=False).reads_terminal is person
        )
    finally:
        for pid in [*procfs.descendants(root.pid), root.pid]:
            os.kill(pid, signal.SIGKILL)
        root.communicate()


def test_a_thread_that_listens_for_a_key_is_not_the_training_that_waits() -> None:
    code = "import threading, time; threading.Thread(target=input, daemon=True).start(); time.sleep(6000)"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        until(lambda: len(procfs.threads(child.pid)) == 2, "the thread")
        _wait_for_input(child.pid, procfs.threads(child.pid)[1])
        assert not closer_look.look(child.pid, [child.pid], NOWHERE, with_stack=False).reads_terminal
    finally:
        child.kill()
        child.communicate()


FOREVER = SystemCall("futex", (1, 0x189, 0, 0, 0, 0))


TIMED = SystemCall("futex", (1, 0x189, 0, 0x7FFC0000, 0, 0))


@pytest.mark.parametrize("absolute", [True, False])
def test_a_fifo_that_nobody_opens_to_write_is_seen_by_the_call(tmp_path: Path, absolute: bool) -> None:
    """The real thing: a thread of another process stands in openat."""
    name = str(tmp_path / "pipe") if absolute else "pipe"
    os.mkfifo(tmp_path / "pipe")
    code = (
        "import sys, threading, time; threading.Thread(target=open, args=(sys.argv[1],), daemon=True).start()"
    )
    child = subprocess.Popen([sys.executable, "-c", code + "; print(1, flush=True); time.sleep(6000)", name],
                             cwd=tmp_path, stdout=subprocess.PIPE)  # fmt: skip
    try:
        assert child.stdout is not None and child.stdout.readline() == b"1\n"
        until(
            lambda: closer_look.look(child.pid, [child.pid], NOWHERE, with_stack=False).blocked_on_fifo,
            "the thread that opens the FIFO",
        )
        inside = [
            syscalls.describe_syscall(child.pid, syscalls.current_syscall(child.pid, tid))
            for tid in procfs.threads(child.pid)
        ]
        assert f"openat ({name})" in inside
        assert not closer_look.look(os.getpid(), [os.getpid()], NOWHERE, with_stack=False).blocked_on_fifo
    finally:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


def test_an_open_that_takes_long_is_not_in_vain_where_the_file_is_no_fifo(tmp_path: Path) -> None:
    """As on gcsfuse, whose open waits for the network in the same state. Here a lease holds it up."""
    file = tmp_path / "data"
    file.write_bytes(b"x")
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    held = os.open(file, os.O_RDONLY)
    try:
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError:
        pytest.skip("this file system gives no leases")
    child = subprocess.Popen([sys.executable, "-c", "open('data', 'r+b')"], cwd=tmp_path)
    try:
        until(
            lambda: (
                syscalls.describe_syscall(child.pid, syscalls.current_syscall(child.pid, child.pid))
                == "openat (data)"
            ),
            "the call that opens the file",
        )
        stat = procfs.stat(child.pid)
        assert stat is not None and stat.state == "S"
        assert not closer_look.look(child.pid, [child.pid], NOWHERE, with_stack=False).blocked_on_fifo
    finally:
        child.kill()
        child.wait()
        os.close(held)
        signal.signal(signal.SIGIO, before)


@pytest.mark.parametrize(
    "calls,locked",
    [
        ([FOREVER, FOREVER], True),
        ([FOREVER, TIMED], False),
        ([FOREVER, None], False),
        ([FOREVER, SystemCall("read", (0, 0, 0, 0, 0, 0))], False),
        ([SystemCall("wait4", (5, 0, 0, 0, 0, 0)), FOREVER], True),
        ([SystemCall("wait4", (5, 0, 0, 0, 0, 0))], False),
        ([], False),
    ],
)
def test_locked_is_when_nobody_is_left_to_wake_anybody(calls: list[SystemCall | None], locked: bool) -> None:
    assert closer_look.all_blocked_on_locks(calls) is locked


@pytest.mark.parametrize(
    "file,function,activity",
    [
        ("/x/tensorflow/python/framework/func_graph.py", "func_graph_from_py_func", StackActivity.COMPILING),
        (
            "/x/tensorflow/python/eager/polymorphic_function/tracing_compilation.py",
            "call_function",
            StackActivity.EXECUTING,
        ),
        (
            "/x/tensorflow/python/eager/polymorphic_function/tracing_compilation.py",
            "trace_function",
            StackActivity.COMPILING,
        ),
        ("/x/tensorflow/python/eager/execute.py", "quick_execute", StackActivity.EXECUTING),
        ("/x/jax/_src/compiler.py", "backend_compile_and_load", StackActivity.COMPILING),
        ("<frozen importlib._bootstrap>", "_find_and_load", StackActivity.IMPORTING),
        ("train.py", "<module>", StackActivity.EXECUTING),
    ],
)
def test_what_the_stack_says(file: str, function: str, activity: StackActivity) -> None:
    assert (
        closer_look.activity_of_frames([Frame("/lib/python3.11/x.py", 1, "f"), Frame(file, 2, function)])
        is activity
    )


def test_innermost_in_code_that_never_waits_something_is_freed() -> None:
    fit = Frame("/x/keras/src/backend/tensorflow/trainer.py", 397, "TensorFlowTrainer.fit")
    assert closer_look.activity_of_frames([fit, Frame("train.py", 9, "<module>")]) is StackActivity.FREEING
    running = Frame("/x/tensorflow/python/eager/execute.py", 53, "quick_execute")
    assert closer_look.activity_of_frames([running, fit]) is StackActivity.EXECUTING


@pytest.mark.parametrize(
    ("until", "before", "kept"),
    [
        (1100.0, None, True),  # a hundred seconds are left
        (1100.0, 1100.3, True),
        (1008.0, 1008.4, True),  # the last seconds of a sleep that was long
        (1008.0, None, False),  # a loop that looks for something every few seconds
        (1008.0, 995.0, False),
        (None, 1008.0, False),  # it is awake
    ],
)
def test_a_long_sleep_is_one_until_its_end(until: float | None, before: float | None, kept: bool) -> None:
    look, last = CloserLook(sleeps_until=until), CloserLook(sleeps_until=before)
    assert closer_look.long_sleep(look, last, 1000.0) == (until if kept else None)


def _look_at_all(pid: int) -> CloserLook:
    """At a moment in which the program starts nothing."""
    while True:
        pids = [pid, *procfs.descendants(pid)]
        threads = [procfs.threads(one) for one in pids]
        found = closer_look.look(pid, pids, NOWHERE, with_stack=True)
        if [pid, *procfs.descendants(pid)] == pids and [procfs.threads(one) for one in pids] == threads:
            return found


@pytest.mark.parametrize(
    ("code", "locked"),
    [
        ("threading.Event().wait()", True),
        ("t = threading.Thread(target=threading.Event().wait, daemon=True); t.start(); t.join()", True),
        ("threading.Event().wait(6000)", False),  # it has an end
        ("t = threading.Thread(target=time.sleep, args=(6000,), daemon=True); t.start(); t.join()", False),
        (
            "a, b = socket.socketpair(); t = threading.Thread(target=a.recv, args=(9,)); t.start(); t.join()",
            False,
        ),
        ("subprocess.run(['sleep', '6000'])", False),  # the child will end
    ],
)
def test_python_threads_are_locked_where_nothing_can_wake_them(code: str, locked: bool) -> None:
    program = f"import socket, subprocess, threading, time\nprint(1, flush=True)\n{code}"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert child.stdout is not None and child.stdout.readline() == b"1\n"
        if locked:
            until(lambda: _look_at_all(child.pid).python_locked, "every thread to wait")
        else:
            end = time.monotonic() + 2
            while time.monotonic() < end:
                assert not _look_at_all(child.pid).python_locked
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
