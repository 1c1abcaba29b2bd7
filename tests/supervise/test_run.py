"""The real supervisor over real small children."""

from __future__ import annotations

import errno
import fcntl
import functools
import json
import os
import pty
import resource
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.journal.events import (
    AttemptEnded,
    Restarted,
    RunClosed,
    SignalReceived,
    StacksCaptured,
    Stalled,
    SupervisorLost,
)
from holdfast.supervise.stack_capture import pyspy
from tests.waiting import PATIENCE_S, until

from .running import HOLDFAST, WAIT, at_work_in, child_pid, events, only, python, run, state

# -- the exit code and the streams ----------------------------------------------------------------


def test_the_exit_code_is_the_commands_own(tmp_path: Path) -> None:
    assert run(*python("raise SystemExit(41)"), cwd=tmp_path).returncode == 41
    killed = run(*python("import os; os.kill(os.getpid(), 9)"), cwd=tmp_path)
    assert killed.returncode == 137
    ended = (
        only(tmp_path / "runs" / "python-2", AttemptEnded) if (tmp_path / "runs/python-2").exists() else None
    )
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert len(names) == 2
    ended = only(tmp_path / "runs" / names[1], AttemptEnded)
    assert isinstance(ended, AttemptEnded)
    assert (ended.exit_code, ended.signal, ended.stopped_by_us) == (None, "SIGKILL", "")


def test_each_stream_arrives_where_it_was_sent_and_both_are_in_the_log(tmp_path: Path) -> None:
    done = run(
        "--run-dir",
        "r",
        *python("import sys; print('to out'); print('to err', file=sys.stderr)"),
        cwd=tmp_path,
    )
    assert done.stdout == "to out\n"
    assert done.stderr.startswith("to err\nholdfast: the command ended with exit code 0\n")
    assert sorted((tmp_path / "r/output.log").read_text().splitlines()) == ["to err", "to out"]


def test_standard_input_is_passed_through(tmp_path: Path) -> None:
    assert run(*python("print(input() * 2)"), cwd=tmp_path, stdin="ab\n").stdout == "abab\n"


def test_a_program_that_is_not_there_gives_127_and_the_nearest_name(tmp_path: Path) -> None:
    done = run("--run-dir", "r", "--", "pythn", "train.py", cwd=tmp_path)
    assert done.returncode == 127
    assert "error[command-not-found]: there is no program pythn" in done.stderr
    assert "the nearest is python" in done.stderr
    closed = only(tmp_path / "r", RunClosed)
    assert isinstance(closed, RunClosed) and (closed.outcome, closed.exit_code) == ("not-started", 127)


def test_a_script_that_may_not_be_executed_gives_126_and_the_change(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    done = run("--", "./train.py", cwd=tmp_path)
    assert done.returncode == 126
    assert "error[command-not-executable]: ./train.py may not be executed" in done.stderr
    assert "holdfast run -- python ./train.py" in done.stderr


def test_a_run_is_never_written_over_another(tmp_path: Path) -> None:
    assert run("--run-dir", "r", "--", "true", cwd=tmp_path).returncode == 0
    before = (tmp_path / "r/journal.jsonl").read_bytes()
    again = run("--run-dir", "r", "--", "true", cwd=tmp_path)
    assert again.returncode == 2
    assert "error[already-there]: r exists already" in again.stderr
    assert "--run-dir r-1" in again.stderr
    assert (tmp_path / "r/journal.jsonl").read_bytes() == before


def test_runs_are_named_after_the_script_and_counted(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("pass\n")
    for _ in range(2):
        run("--", sys.executable, "train.py", cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["train-1", "train-2"]


def test_the_child_finds_the_probe_and_the_run_and_nothing_else_changes(tmp_path: Path) -> None:
    code = "import os, json; print(json.dumps(dict(os.environ)))"
    done = run("--run-dir", "r", *python(code), cwd=tmp_path)
    seen = json.loads(done.stdout)
    new = {name for name, value in seen.items() if os.environ.get(name) != value}
    assert {name for name in new if not name.startswith("HOLDFAST_")} <= {"PYTHONPATH", "PWD"}
    assert seen["HOLDFAST_RUN_DIR"] == str(tmp_path / "r") and seen["HOLDFAST_ATTEMPT"] == "1"
    assert seen["PYTHONPATH"].split(os.pathsep)[0].endswith("holdfast/probe/inject")


# -- a great deal of output -----------------------------------------------------------------------


def test_two_hundred_megabytes_arrive_whole_and_the_log_keeps_its_rule(tmp_path: Path) -> None:
    code = "import sys\nfor n in range(200): sys.stdout.buffer.write((b'%07d\\n' % n) * 125000)"
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [*HOLDFAST, "--run-dir", "r", *python(code)], cwd=tmp_path, stdout=out, timeout=PATIENCE_S
        )
    assert done.returncode == 0
    until(lambda: not at_work_in(tmp_path), "the relay to end")
    assert (tmp_path / "out").stat().st_size == 200_000_000
    log = tmp_path / "r/output.log"
    assert log.stat().st_size < 129 * 1024 * 1024
    with log.open("rb") as file:
        assert file.read(8) == b"0000000\n"
        file.seek(-8, os.SEEK_END)
        assert file.read() == b"0000199\n"
        file.seek(64 * 1024 * 1024)
        assert file.read(200).lstrip().startswith(b"[holdfast: ")


def test_a_screen_that_takes_nothing_does_not_hold_up_the_command(tmp_path: Path) -> None:
    """Nobody reads our output: the command writes more than any pipe holds, and ends all the same."""
    code = "import sys\nfor _ in range(40): sys.stdout.buffer.write(b'x' * 500000)\nopen('done', 'w').close()"
    reading, writing = os.pipe()
    process = subprocess.Popen([*HOLDFAST, "--run-dir", "r", *python(code)], cwd=tmp_path, stdout=writing)
    os.close(writing)
    try:
        until((tmp_path / "done").exists, "the command to end")
        until(lambda: (tmp_path / "r/output.log").stat().st_size > 10_000_000, "what it wrote")
    finally:
        os.close(reading)
        process.wait(timeout=PATIENCE_S)


# -- signals --------------------------------------------------------------------------------------

KIND = (
    "import time, pathlib\n"
    f"try:\n    pathlib.Path('up').touch(); {WAIT}\n"
    "except KeyboardInterrupt:\n    print('kindly'); raise SystemExit(7)"
)
STUBBORN = (
    "import signal, time, pathlib\nsignal.signal(2, lambda *_: pathlib.Path('asked').touch())\n"
    "pathlib.Path('up').touch()\nwhile True: time.sleep(1)"
)


def test_one_interrupt_is_kind_and_the_end_block_still_comes(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = started(*python(KIND))
    until((tmp_path / "up").exists, "the command")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE_S) == 7
    until(lambda: not at_work_in(tmp_path), "the relay to end")
    assert (tmp_path / "out").read_text() == "kindly\n"
    assert (
        "holdfast: the command was interrupted and ended with exit code 7" in (tmp_path / "err").read_text()
    )
    received = only(tmp_path / "r", SignalReceived)
    assert isinstance(received, SignalReceived)
    assert (received.signal, received.from_pid) == ("SIGINT", os.getpid())


def test_a_second_interrupt_kills_the_whole_tree(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = started(*python(STUBBORN))
    until((tmp_path / "up").exists, "the command")
    process.send_signal(signal.SIGINT)
    until((tmp_path / "asked").exists, "the first interrupt")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE_S) == 137
    assert list((tmp_path / "r/stacks").glob("before-kill-*.json"))


def test_sigterm_reaches_the_command_and_its_sender_is_recorded(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    code = (
        "import signal, time, pathlib, sys\nsignal.signal(15, lambda *_: sys.exit(3))\n"
        f"pathlib.Path('up').touch()\n{WAIT}"
    )
    process = started(*python(code))
    until((tmp_path / "up").exists, "the command")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE_S) == 3
    received = only(tmp_path / "r", SignalReceived)
    ended = only(tmp_path / "r", AttemptEnded)
    assert isinstance(received, SignalReceived) and isinstance(ended, AttemptEnded)
    assert (received.signal, received.from_pid) == ("SIGTERM", os.getpid())
    assert received.from_command == " ".join(sys.orig_argv).strip()[:200]
    assert ended.stopped_by_us == "terminate"


def test_killing_the_supervisor_leaves_the_command_running_and_the_journal_readable(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    code = (
        "import pathlib, time, sys\npathlib.Path('up').touch()\n"
        "while not pathlib.Path('go').exists():\n"
        "    time.sleep(0.05); print('tick', flush=True); print('tock', file=sys.stderr, flush=True)\n"
        "print('x' * 300000, flush=True); pathlib.Path('done').touch()"
    )
    process = started(*python(code))
    until((tmp_path / "up").exists, "the command")
    pid = child_pid(tmp_path / "r")
    process.kill()
    process.wait()
    log = tmp_path / "r/output.log"
    printed = log.stat().st_size if log.exists() else 0
    until(lambda: log.exists() and log.stat().st_size > printed + 100, "output after the kill")
    assert state(pid) in "SR"
    (tmp_path / "go").touch()
    until((tmp_path / "done").exists, "the command to end by itself")
    until(
        lambda: any(isinstance(event, SupervisorLost) for event in events(tmp_path / "r")), "the relay's note"
    )
    lost = only(tmp_path / "r", SupervisorLost)
    assert isinstance(lost, SupervisorLost) and lost.output_bytes > 300000
    until(lambda: log.stat().st_size > 300000, "all of the output")
    assert not any(isinstance(event, AttemptEnded) for event in events(tmp_path / "r"))


def test_suspending_the_supervisor_suspends_the_command_and_is_no_stall(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    code = "import pathlib, time\npathlib.Path('up').touch()\nwhile not pathlib.Path('go').exists(): time.sleep(0.1)"
    process = started(*python(code))
    until((tmp_path / "up").exists, "the command")
    pid = child_pid(tmp_path / "r")
    process.send_signal(signal.SIGTSTP)
    until(lambda: state(process.pid) == "T" and state(pid) == "T", "both to stand still")
    process.send_signal(signal.SIGCONT)
    until(lambda: state(pid) in "SR", "the command to go on")
    (tmp_path / "go").touch()
    assert process.wait(timeout=PATIENCE_S) == 0
    assert not [event for event in events(tmp_path / "r") if isinstance(event, Stalled)]


def test_a_supervisor_that_was_stopped_longer_than_between_two_looks_goes_on(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    code = "import pathlib, time\npathlib.Path('up').touch()\nwhile not pathlib.Path('go').exists(): time.sleep(0.1)"
    process = started(*python(code))
    until((tmp_path / "up").exists, "the command")
    process.send_signal(signal.SIGSTOP)
    until(lambda: state(process.pid) == "T", "the supervisor to stand still")
    stopped = time.monotonic()
    until(lambda: time.monotonic() > stopped + 2.5, "a look that is overdue")
    process.send_signal(signal.SIGCONT)
    (tmp_path / "go").touch()
    assert process.wait(timeout=PATIENCE_S) == 0
    assert isinstance(only(tmp_path / "r", AttemptEnded), AttemptEnded)


def test_a_stalled_command_is_started_again_and_given_up_when_it_stalls_again(tmp_path: Path) -> None:
    (tmp_path / "lock.py").write_text(
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n"
    )
    words = [
        "--on-stall",
        "restart",
        "--restarts",
        "5",
        "--stall-after",
        "2",
        "--",
        sys.executable,
        "lock.py",
    ]
    done = run("--run-dir", "r", *words, cwd=tmp_path)
    assert done.returncode == 124
    assert "holdfast: restarting in 1 s: it stalled" in done.stderr
    assert "holdfast: not restarted: it stalled again, and no training was seen in between" in done.stderr
    assert [event.pause_s for event in events(tmp_path / "r") if isinstance(event, Restarted)] == [1.0]


def test_a_suspended_command_is_told_and_left_alone(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """Somebody lends the GPU to another for a while: that is no reason to end it."""
    process = started(
        "--on-stall",
        "stop",
        *python(
            "import pathlib, time\npathlib.Path('up').touch()\n"
            "while not pathlib.Path('go').exists(): time.sleep(0.1)"
        ),
    )
    until((tmp_path / "up").exists, "the command")
    pid = child_pid(tmp_path / "r")
    os.kill(pid, signal.SIGSTOP)
    until(lambda: any(isinstance(one, StacksCaptured) for one in events(tmp_path / "r")), "the stall")
    stalled = only(tmp_path / "r", Stalled)
    assert isinstance(stalled, Stalled)
    assert stalled.limit_from == "the process is suspended"
    captured = tmp_path / "r/stacks" / stalled.stacks[0]
    until(lambda: len(json.loads(captured.read_text())["looks"]) == 3, "all three looks")
    (tmp_path / "go").touch()
    time.sleep(3)
    assert state(pid) == "T"
    os.kill(pid, signal.SIGCONT)
    assert process.wait(timeout=PATIENCE_S) == 0


def test_a_suspended_command_that_is_asked_to_end_ends(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = started(
        *python("import pathlib, time\npathlib.Path('up').touch()\nwhile True: time.sleep(0.1)")
    )
    until((tmp_path / "up").exists, "the command")
    os.kill(child_pid(tmp_path / "r"), signal.SIGSTOP)
    until(lambda: any(isinstance(one, Stalled) for one in events(tmp_path / "r")), "the stall")
    process.terminate()
    assert process.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM


def test_a_command_that_is_suspended_after_it_was_asked_to_end_ends(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = started(
        *python(
            "import os, pathlib, signal, sys, time\n"
            "def asked(*_):\n    os.kill(os.getpid(), signal.SIGSTOP)\n    sys.exit(3)\n"
            "signal.signal(signal.SIGTERM, asked)\n"
            "pathlib.Path('up').touch()\nwhile True: time.sleep(0.1)"
        )
    )
    until((tmp_path / "up").exists, "the command")
    process.terminate()
    assert process.wait(timeout=PATIENCE_S) == 3


def test_a_deadlock_is_noticed_stopped_and_captured(tmp_path: Path) -> None:
    (tmp_path / "lock.py").write_text(
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n"
    )
    done = run(
        "--run-dir",
        "r",
        "--on-stall",
        "stop",
        "--stall-after",
        "3",
        "--",
        sys.executable,
        "lock.py",
        cwd=tmp_path,
    )
    assert done.returncode == 124
    # On a busy machine Python's own start may stand for 3 s before it; the last one is the lock's.
    stalled = [event for event in events(tmp_path / "r") if isinstance(event, Stalled)][-1]
    assert stalled.progress["all_threads_locked"] is True
    captured = json.loads((tmp_path / "r/stacks" / stalled.stacks[0]).read_text())
    assert len(captured["looks"]) == 3
    main = captured["looks"][0]["processes"][0]["threads"][0]
    assert main["syscall"] == "futex for ever"
    if pyspy.program() is None:
        pytest.skip("py-spy is not installed: the wait was seen, the lines cannot be")
    innermost = main["frames"][0]
    assert (innermost["file"], innermost["line"]) == (str(tmp_path / "lock.py"), 4)
    assert innermost["code"] == "lock.acquire()"


# -- a terminal -----------------------------------------------------------------------------------


def in_terminal(
    words: list[str], cwd: Path, typed: bytes = b"", size: tuple[int, int] = (31, 97)
) -> tuple[int, str]:
    """Runs in a terminal of its own; what is typed is sent once the command says `ready`."""
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        os.chdir(cwd)
        os.execv(words[0], words)
    shown = b""
    end = time.monotonic() + PATIENCE_S
    terminal = select.poll()
    terminal.register(master, select.POLLIN | select.POLLHUP)
    while time.monotonic() < end:
        if terminal.poll(200):
            try:
                shown += os.read(master, 65536)
            except OSError as error:
                assert error.errno == errno.EIO
                break
        if typed and b"ready" in shown:
            os.write(master, typed)
            typed = b""
    else:
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def test_a_terminal_stays_a_terminal_with_its_size_and_its_keyboard(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "print(sys.stdout.isatty(), sys.stdin.isatty(), *os.get_terminal_size())\n"
        "print('got', input('ready '))"
    )
    status, shown = in_terminal([*HOLDFAST, "--run-dir", "r", *python(code)], tmp_path, b"hello\r")
    assert status == 0
    assert "True True 97 31" in shown
    assert "got hello" in shown
    assert "holdfast: the command ended with exit code 0" in shown
    assert (tmp_path / "r/output.log").read_text().startswith("True True 97 31\nready hello")


def test_ctrl_c_at_the_terminal_interrupts(tmp_path: Path) -> None:
    code = (
        "import time\n"
        f"try:\n    print('ready', flush=True); {WAIT}\nexcept KeyboardInterrupt:\n    print('kindly')"
    )
    status, shown = in_terminal([*HOLDFAST, "--run-dir", "r", *python(code)], tmp_path, b"\x03")
    assert status == 0, shown
    assert "kindly" in shown and "the command was interrupted" in shown


# -- when the watch itself has trouble ------------------------------------------------------------


def test_a_run_folder_that_vanishes_does_not_touch_the_command(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    import shutil

    code = (
        "import pathlib, time\npathlib.Path('up').touch()\n"
        "while not pathlib.Path('go').exists(): time.sleep(0.1); print(1, flush=True)\nraise SystemExit(9)"
    )
    process = started(*python(code))
    until((tmp_path / "up").exists, "the command")
    until((tmp_path / "r/vitals.jsonl").exists, "the first sample")
    (tmp_path / "r").rename(tmp_path / "gone")  # nothing new comes into it while it is removed
    shutil.rmtree(tmp_path / "gone")
    time.sleep(2)
    (tmp_path / "go").touch()
    assert process.wait(timeout=PATIENCE_S) == 9


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system is mounted, which only root may do")
def test_a_full_disk_under_the_run_is_said_once_and_the_command_goes_on(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(small)], check=False
    ).returncode:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        done = run(
            "--run-dir",
            str(small / "r"),
            *python("for _ in range(9000): print('y' * 99)\nraise SystemExit(6)"),
            cwd=tmp_path,
        )
        assert done.returncode == 6
        assert len(done.stdout) == 900_000
        assert done.stderr.count("monitoring failed (output.log") == 1
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize("closed", [[1], [2], [1, 2]], ids=str)
def test_the_exit_code_is_the_commands_own_where_descriptors_are_closed(
    tmp_path: Path, closed: list[int]
) -> None:
    """As a shell's `>&-` leaves them."""
    words = [*HOLDFAST, "--run-dir", "r", *python("print(1); raise SystemExit(5)")]
    redirected = " ".join(f"{number}>&-" for number in closed)
    assert (
        subprocess.run(
            f"{shlex.join(words)} {redirected}", shell=True, cwd=tmp_path, timeout=PATIENCE_S
        ).returncode
        == 5
    )


def test_a_command_runs_where_no_folder_takes_a_temporary_file(tmp_path: Path) -> None:
    """As on a full disk, here by the limit on the size of a file."""
    words = [*HOLDFAST, "--run-dir", "r", *python("import os; os._exit(6)")]
    no_files = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, 0))
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, preexec_fn=no_files, timeout=PATIENCE_S)
    assert done.returncode == 6
