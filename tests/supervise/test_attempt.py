"""One attempt: whom a signal reaches, what is recorded at its end, and leftover processes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.host import cgroup, kernel_log
from holdfast.journal import vitals
from holdfast.journal.events import AttemptEnded, Restarted, SignalSent
from holdfast.journal.folder import RunFolder
from holdfast.supervise import companion
from holdfast.supervise.attempt import AttemptRunner
from holdfast.supervise.child.spawn import ProcessExit
from tests.supervise.running import (
    HOLDFAST,
    WAIT,
    at_work_in,
    child_pid,
    events,
    only,
    python,
    run,
    state,
)
from tests.waiting import PATIENCE_S, until


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
        known_pids={1}, peak_bytes=1, descendants={}, beats=SimpleNamespace(newest=None),
    )  # fmt: skip
    companion._attempt_ended(watched, None, 5.0)  # type: ignore[arg-type]
    attempt = AttemptRunner(SimpleNamespace(pid=1 << 30), watched, None, on_stall="report", print_line=print)  # type: ignore[arg-type]
    attempt._ended_event(ProcessExit(0, resource.getrusage(resource.RUSAGE_CHILDREN)), began)
    assert len(asked) == 2 and all(began - 10 <= since <= time.monotonic() for since in asked)


Started = Callable[..., "subprocess.Popen[bytes]"]


DEAF = (
    "import signal, threading, pathlib, os\nsignal.signal(15, lambda *_: None)\n"
    "pathlib.Path('up').write_text(str(os.getpid()))\nlock = threading.Lock()\nlock.acquire()\n"
    "while True: lock.acquire()"
)


def test_a_stalled_training_below_a_shell_script_is_ended_with_it(tmp_path: Path) -> None:
    """The shell goes at once when it is asked; what it waited for does not."""
    (tmp_path / "deaf.py").write_text(DEAF)
    words = ["--run-dir", "r", "--on-stall", "stop", "--stall-after", "2"]
    done = run(*words, "--", "bash", "-c", f"{sys.executable} deaf.py; true", cwd=tmp_path)
    assert done.returncode == 124
    assert state(int((tmp_path / "up").read_text())) in ("gone", "Z")
    sent = [(one.signal, one.why) for one in events(tmp_path / "r") if isinstance(one, SignalSent)]
    assert [name for name, _ in sent] == ["SIGTERM", "SIGKILL"]
    assert "left" not in done.stderr.partition("holdfast: the command stalled and was stopped")[2].split()


def test_no_attempt_begins_beside_what_the_last_one_left(tmp_path: Path) -> None:
    script = (
        "for p in $(cat pids 2>/dev/null); do grep -qs 'State:.[SR]' /proc/$p/status && echo beside; done\n"
        "sleep 600 > /dev/null 2>&1 & echo $! >> pids\nexit 3"
    )
    done = run("--run-dir", "r", "--restarts", "1", "--", "bash", "-c", script, cwd=tmp_path)
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    os.kill(pids[-1], signal.SIGKILL)
    assert done.returncode == 3 and len(pids) == 2
    assert done.stdout == ""


def test_sigterm_reaches_the_training_below_a_shell_script_which_is_waited_for(
    tmp_path: Path, started: Started
) -> None:
    (tmp_path / "train.py").write_text(
        "import signal, sys, time, pathlib\n"
        "def save(*_):\n    time.sleep(1); pathlib.Path('saved').touch(); sys.exit(0)\n"
        f"signal.signal(15, save)\npathlib.Path('up').touch()\n{WAIT}"
    )
    process = started("--", "bash", "-c", f"{sys.executable} train.py; true")
    until((tmp_path / "up").exists, "the training")
    process.terminate()
    assert process.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
    assert (tmp_path / "saved").exists()
    assert not at_work_in(tmp_path)


BEATING = (
    "import os, pathlib, signal, sys, time\n"
    "from holdfast.journal.beats import BeatWriter, Phase\n"
    "if os.environ['HOLDFAST_ATTEMPT'] == '2': sys.exit(0)\n"
    "signal.signal(signal.SIGHUP, lambda *_: pathlib.Path('heard').touch())\n"
    "beats = BeatWriter(pathlib.Path(os.environ['HOLDFAST_RUN_DIR']) / 'beats', attempt=1)\n"
    "step = 0\n"
    "while not pathlib.Path('fail').exists():\n"
    "    step += 1; beats.write(Phase.STEP, step=step, train_batches=step, fit=1); time.sleep(0.05)\n"
    "    if step == 20: pathlib.Path('up').touch()\n"
    "raise MemoryError('no room')"
)


def _steps_seen_after(mono: float, run_dir: Path) -> bool:
    samples = [sample for _, sample in vitals.read(RunFolder(run_dir).vitals)]
    return any(later.mono > mono and later.step > one.step for one, later in pairwise(samples))


def test_a_run_that_trained_on_after_a_signal_is_started_again_when_it_fails(
    tmp_path: Path, started: Started
) -> None:
    process = started("--restarts", "1", *python(BEATING))
    until((tmp_path / "up").exists, "the training")
    process.send_signal(signal.SIGHUP)
    until((tmp_path / "heard").exists, "the signal")
    heard = time.monotonic()
    until(
        lambda: _steps_seen_after(heard + 10, tmp_path / "r"), "steps that the supervisor sees later than it"
    )
    (tmp_path / "fail").touch()
    assert process.wait(timeout=PATIENCE_S) == 0
    assert [one.why for one in events(tmp_path / "r") if isinstance(one, Restarted)]
    ended = [one.stopped_by_us for one in events(tmp_path / "r") if isinstance(one, AttemptEnded)]
    assert ended == ["", ""]


def test_an_interrupt_that_was_ignored_before_us_stays_ignored(tmp_path: Path) -> None:
    """A shell script ignores SIGINT for what it starts with `&`."""
    code = (
        "import pathlib, signal, time\nprint(signal.getsignal(2) == signal.SIG_IGN, flush=True)\n"
        "pathlib.Path('up').touch()\nwhile not pathlib.Path('go').exists(): time.sleep(0.1)"
    )
    words = ["bash", "-c", 'trap "" INT; exec "$@"', "x", *HOLDFAST, "--run-dir", "r", *python(code)]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until((tmp_path / "up").exists, "the command")
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    (tmp_path / "go").touch()
    shown, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, shown) == (0, "True\n")
    assert "holdfast: the command ended with exit code 0" in said


def test_a_script_that_draws_an_image_at_ctrl_c_is_not_killed_by_the_next_one(
    tmp_path: Path, started: Started
) -> None:
    code = (
        "import pathlib, signal, time\nheard = []\n"
        "signal.signal(2, lambda *_: (heard.append(2), pathlib.Path(f'heard-{len(heard)}').touch()))\n"
        "pathlib.Path('up').touch()\nwhile not pathlib.Path('go').exists(): time.sleep(0.1)"
    )
    process = started(*python(code))
    until((tmp_path / "up").exists, "the command")
    process.send_signal(signal.SIGINT)
    until((tmp_path / "heard-1").exists, "the first")
    heard = time.monotonic()
    until(lambda: time.monotonic() > heard + 11, "the time in which a second one kills")
    process.send_signal(signal.SIGINT)
    until((tmp_path / "heard-2").exists, "the second")
    (tmp_path / "go").touch()
    assert process.wait(timeout=PATIENCE_S) == 0
    assert state(child_pid(tmp_path / "r")) == "gone"
    assert isinstance(only(tmp_path / "r", AttemptEnded), AttemptEnded)
