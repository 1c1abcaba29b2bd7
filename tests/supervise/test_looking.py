"""Reading /proc, system calls, stacks and the kernel's log."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.host import cgroup, kernel_log, procfs
from holdfast.journal.folder import RunFolder
from holdfast.journal.stacks import Frame
from holdfast.journal.vitals import Sample
from holdfast.supervise import companion, monitor
from holdfast.supervise.attempt import AttemptRunner
from holdfast.supervise.child.spawn import ProcessExit
from holdfast.supervise.stack_capture import capture, pyspy, syscalls
from holdfast.supervise.stack_capture.syscalls import SystemCall
from holdfast.supervise.stall import closer_look
from holdfast.supervise.stall.phase_limits import StackActivity


def test_what_a_thread_waits_for_is_named_with_its_file() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "print(1, flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == b"1\n"
        for _ in range(2000):
            inside = syscalls.current_syscall(child.pid, child.pid)
            if inside is not None and inside.name == "read":
                break
        assert syscalls.describe_syscall(child.pid, inside).startswith("read fd=0 (pipe:")
        assert closer_look.look(child.pid, [child.pid], with_stack=False).reads_terminal
    finally:
        child.communicate(b"\n")


def _stands_in_read(pid: int, thread: int | None = None) -> None:
    deadline = time.monotonic() + 20
    while (inside := syscalls.current_syscall(pid, thread or pid)) is None or inside.name != "read":
        assert time.monotonic() < deadline


PASSES_ON = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
HELPED = "import subprocess, time\nsubprocess.Popen(['cat'], stdin=subprocess.PIPE)\ntime.sleep(60)"
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
        deadline = time.monotonic() + 20
        while not (below := procfs.descendants(root.pid)):
            assert time.monotonic() < deadline
        _stands_in_read(below[0])
        trainer = below[0] if trains == "child" else root.pid
        assert closer_look.look(trainer, [root.pid, *below], with_stack=False).reads_terminal is person
    finally:
        for pid in [*procfs.descendants(root.pid), root.pid]:
            os.kill(pid, signal.SIGKILL)
        root.communicate()


def test_a_thread_that_listens_for_a_key_is_not_the_training_that_waits() -> None:
    code = "import threading, time; threading.Thread(target=input, daemon=True).start(); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 20
        while len(threads := procfs.threads(child.pid)) < 2:
            assert time.monotonic() < deadline
        _stands_in_read(child.pid, threads[1])
        assert not closer_look.look(child.pid, [child.pid], with_stack=False).reads_terminal
    finally:
        child.kill()
        child.communicate()


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


@pytest.mark.parametrize("absolute", [True, False])
def test_a_fifo_that_nobody_opens_to_write_is_seen_by_the_call(tmp_path: Path, absolute: bool) -> None:
    """The real thing: a thread of another process stands in openat."""
    name = str(tmp_path / "pipe") if absolute else "pipe"
    os.mkfifo(tmp_path / "pipe")
    code = (
        "import sys, threading, time; threading.Thread(target=open, args=(sys.argv[1],), daemon=True).start()"
    )
    child = subprocess.Popen([sys.executable, "-c", code + "; print(1, flush=True); time.sleep(60)", name],
                             cwd=tmp_path, stdout=subprocess.PIPE)  # fmt: skip
    try:
        assert child.stdout is not None and child.stdout.readline() == b"1\n"
        deadline = time.monotonic() + 10
        while not closer_look.look(child.pid, [child.pid], with_stack=False).opens_in_vain:
            assert time.monotonic() < deadline
        inside = [
            syscalls.describe_syscall(child.pid, syscalls.current_syscall(child.pid, tid))
            for tid in procfs.threads(child.pid)
        ]
        assert f"openat ({name})" in inside
        assert not closer_look.look(os.getpid(), [os.getpid()], with_stack=False).opens_in_vain
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
        deadline = time.monotonic() + 20
        while (
            syscalls.describe_syscall(child.pid, syscalls.current_syscall(child.pid, child.pid))
            != "openat (data)"
        ):
            assert time.monotonic() < deadline
        stat = procfs.stat(child.pid)
        assert stat is not None and stat.state == "S"
        assert not closer_look.look(child.pid, [child.pid], with_stack=False).opens_in_vain
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
    "file,function,doing",
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
def test_what_the_stack_says(file: str, function: str, doing: StackActivity) -> None:
    assert (
        closer_look.activity_of_frames([Frame("/lib/python3.11/x.py", 1, "f"), Frame(file, 2, function)])
        is doing
    )


def test_innermost_in_code_that_never_waits_something_is_freed() -> None:
    fit = Frame("/x/keras/src/backend/tensorflow/trainer.py", 397, "TensorFlowTrainer.fit")
    assert closer_look.activity_of_frames([fit, Frame("train.py", 9, "<module>")]) is StackActivity.FREEING
    running = Frame("/x/tensorflow/python/eager/execute.py", 53, "quick_execute")
    assert closer_look.activity_of_frames([running, fit]) is StackActivity.EXECUTING


def test_faulthandlers_text_is_read_and_the_main_thread_is_the_last() -> None:
    text = (
        'Thread 0x00007f01 (most recent call first):\n  File "/a/load.py", line 7 in wait\n'
        '  File "/a/load.py", line 3 in run\n\n'
        'Current thread 0x00007f02 (most recent call first):\n  File "/a/train.py", line 9 in <module>\n'
    )
    worker, main = capture.parse_faulthandler(text, main_tid=55)
    assert worker.tid == 0 and worker.frames[0] == Frame("/a/load.py", 7, "wait")
    assert main.tid == 55 and main.frames == (Frame("/a/train.py", 9, "<module>"),)


def test_faulthandler_answers_where_py_spy_may_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path)
    folder.stacks.mkdir()
    code = (
        "import faulthandler, os, sys\n"
        f"file = open(r'{folder.stacks}/faulthandler-%d.txt' % os.getpid(), 'w')\n"
        "faulthandler.register(12, file=file, all_threads=True)\n"
        "def stand():\n    print(1, flush=True); sys.stdin.readline()\nstand()\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline() == b"1\n"

        def refused(pid: int, *, native: bool = False) -> list[pyspy.PyThread]:
            raise pyspy.NoStacks("ptrace is refused")

        monkeypatch.setattr(pyspy, "dump", refused)
        found = capture.process_stacks(child.pid, trains=True, folder=folder, native=False)
        assert found is not None and found.source == "faulthandler"
        assert [frame.function for frame in found.threads[0].frames] == ["stand", "<module>"]
    finally:
        child.communicate(b"\n")
    assert child.returncode == 0


def test_a_process_without_a_handler_is_never_sent_the_signal(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.stacks.mkdir()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (folder.stacks / f"faulthandler-{child.pid}.txt").touch()
    assert not procfs.catches(child.pid, signal.SIGUSR2)
    assert capture.ask_faulthandler(child.pid, folder) == []
    child.communicate(b"\n")
    assert child.returncode == 0


@pytest.mark.parametrize(
    ("grown_mib", "used_mib", "available_mib", "soon"),
    [
        (100, 900, 9000, True),  # 400 MiB left of the group's limit, gone in 4 s
        (100, 600, 9000, False),
        (100, 100, 300, True),  # the machine has less left than the group
        (0, 1299, 9000, False),
        (-50, 1299, 9000, False),
    ],
)
def test_memory_that_ends_within_seconds_is_seen_coming(
    grown_mib: int, used_mib: int, available_mib: int, soon: bool
) -> None:
    before = Sample(mono=10.0, tree_rss_bytes=1000 << 20)
    sample = Sample(
        mono=11.0,
        tree_rss_bytes=(1000 + grown_mib) << 20,
        memory_used_bytes=used_mib << 20,
        memory_limit_bytes=1300 << 20,
        memory_available_bytes=available_mib << 20,
    )
    assert monitor.memory_ends_soon(before, sample) is soon
    assert monitor.memory_ends_soon(None, sample) is False


def test_the_kernels_log_is_asked_by_the_clock_that_it_is_written_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither it nor our clock counts the hour for which the machine was suspended; the time since boot does."""
    asked: list[float] = []
    monkeypatch.setattr(kernel_log, "read", lambda *, since: asked.append(since) or [])
    real = time.clock_gettime
    monkeypatch.setattr(
        time, "clock_gettime", lambda clock: real(clock) + 3600 * (clock == time.CLOCK_BOOTTIME)
    )
    began = time.monotonic()
    watched = SimpleNamespace(
        sampler=SimpleNamespace(group=cgroup.find("self")), oom_kills_before=0, pids_refused_before=0,
        known_pids={1}, peak_bytes=1, relatives={},
    )  # fmt: skip
    companion._attempt_ended(watched, None, 5.0)  # type: ignore[arg-type]
    attempt = AttemptRunner(SimpleNamespace(pid=1 << 30), watched, None, on_stall="report", say=print)  # type: ignore[arg-type]
    attempt._ended_event(ProcessExit(0, resource.getrusage(resource.RUSAGE_CHILDREN)), began)
    assert len(asked) == 2 and all(began - 10 <= since <= time.monotonic() for since in asked)
