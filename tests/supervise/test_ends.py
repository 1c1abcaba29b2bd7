"""Ends that were asked for: whom a signal reaches, for how long it counts, and what is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.host import procfs
from holdfast.journal.events import AttemptEnded, Restarted, SignalSent
from holdfast.supervise.child import leftovers
from holdfast.supervise.signal_policy import EndRequest, InterruptCounter, still_counts

from .running import HOLDFAST, WAIT, at_work_in, child_pid, events, only, python, run, state, until

Started = Callable[..., "subprocess.Popen[bytes]"]

DEAF = (
    "import signal, threading, pathlib, os\nsignal.signal(15, lambda *_: None)\n"
    "pathlib.Path('up').write_text(str(os.getpid()))\nlock = threading.Lock()\nlock.acquire()\n"
    "while True: lock.acquire()"
)


# -- what the command leaves behind ---------------------------------------------------------------


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
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert (tmp_path / "saved").exists()
    assert not at_work_in(tmp_path)


def test_what_is_left_is_asked_first_and_killed_after_its_time(tmp_path: Path) -> None:
    kind = subprocess.Popen(["sleep", "600"], start_new_session=True)
    (tmp_path / "deaf.py").write_text(DEAF)
    deaf = subprocess.Popen([sys.executable, "deaf.py"], cwd=tmp_path)
    until((tmp_path / "up").exists, "the deaf one")
    known = {one.pid: one for pid in (kind.pid, deaf.pid) if (one := procfs.stat(pid)) is not None}
    sent: list[tuple[int, int]] = []
    leftovers.terminate(
        lambda: leftovers.find_leftovers(1 << 30, known),
        within_s=0.5,
        told=lambda pid, number: sent.append((pid, number)),
    )
    assert kind.wait(timeout=60) == -signal.SIGTERM
    assert deaf.wait(timeout=60) == -signal.SIGKILL
    assert sorted(sent) == sorted(
        [(kind.pid, signal.SIGTERM), (deaf.pid, signal.SIGTERM), (deaf.pid, signal.SIGKILL)]
    )


def test_a_later_process_of_the_same_number_is_not_touched(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "600"])
    try:
        seen = procfs.stat(other.pid)
        assert seen is not None
        before = procfs.Stat(*(getattr(seen, name) for name in procfs.Stat.__slots__))
        object.__setattr__(before, "started_ticks", seen.started_ticks - 1)
        assert leftovers.find_leftovers(group=1 << 30, known={other.pid: before}) == {}
        assert list(leftovers.find_leftovers(group=1 << 30, known={other.pid: seen})) == [other.pid]
    finally:
        other.kill()
        other.wait()


# -- how long a signal counts ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "by,after_s,batches,counts",
    [
        ("interrupt", 9.0, 80, True),  # steps are still done, but it may be finishing an epoch
        ("interrupt", 11.0, 110, False),  # it trains on: the signal was handled
        ("hangup", 11.0, 110, False),
        ("interrupt", 200.0, 40, True),  # no batch since: it saves
        ("interrupt", 400.0, 40, False),
        ("terminate", 50.0, 500, True),  # a scheduler's signal, and an epoch that is finished first
        ("terminate", 61.0, 600, False),
        ("interrupt", 50.0, None, True),  # nothing beats, so that nobody can tell
        ("interrupt", 61.0, None, False),
        ("stall", 900.0, 4000, True),  # our own, which is followed by SIGKILL
    ],
)
def test_a_signal_counts_until_it_is_seen_to_have_been_handled(
    by: str, after_s: float, batches: int | None, counts: bool
) -> None:
    asked = EndRequest(by, at=1000.0)
    asked = asked.seen(now=1000.0, batches=None if batches is None else 40)
    asked = asked.seen(now=1000.0 + after_s - 0.5, batches=None if batches is None else max(40, batches - 5))
    asked = asked.seen(now=1000.0 + after_s, batches=batches)
    assert still_counts(asked, now=1000.0 + after_s) is counts


def test_a_step_that_was_under_way_at_the_signal_is_no_sign_of_going_on() -> None:
    asked = EndRequest("interrupt", at=0.0).seen(now=0.0, batches=40).seen(now=2.0, batches=41)
    assert still_counts(asked.seen(now=30.0, batches=41), now=30.0)


BEATING = (
    "import os, pathlib, signal, sys, time\n"
    "from holdfast.journal.beats import BeatWriter, Phase\n"
    "if os.environ['HOLDFAST_ATTEMPT'] == '2': sys.exit(0)\n"
    "signal.signal(signal.SIGHUP, lambda *_: pathlib.Path('heard').touch())\n"
    "beats = BeatWriter(pathlib.Path(os.environ['HOLDFAST_RUN_DIR']) / 'beats', attempt=1)\n"
    "step = 0\n"
    "while not pathlib.Path('fail').exists():\n"
    "    step += 1; beats.beat(Phase.STEP, step=step, train_batches=step, fit=1); time.sleep(0.05)\n"
    "    if step == 20: pathlib.Path('up').touch()\n"
    "raise MemoryError('no room')"
)


def test_a_run_that_trained_on_after_a_signal_is_started_again_when_it_fails(
    tmp_path: Path, started: Started
) -> None:
    process = started("--restarts", "1", *python(BEATING))
    until((tmp_path / "up").exists, "the training")
    process.send_signal(signal.SIGHUP)
    until((tmp_path / "heard").exists, "the signal")
    heard = time.monotonic()
    until(lambda: time.monotonic() > heard + 13, "steps after it")
    (tmp_path / "fail").touch()
    assert process.wait(timeout=60) == 0
    assert [one.why for one in events(tmp_path / "r") if isinstance(one, Restarted)]
    ended = [one.stopped_by_us for one in events(tmp_path / "r") if isinstance(one, AttemptEnded)]
    assert ended == ["", ""]


# -- Ctrl-C ---------------------------------------------------------------------------------------


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
    shown, said = process.communicate(timeout=60)
    assert (process.returncode, shown) == (0, "True\n")
    assert "holdfast: the command ended with exit code 0" in said


def test_two_interrupts_far_apart_are_two_first_ones() -> None:
    count = InterruptCounter()
    assert [count.add(now) for now in (100.0, 111.0, 119.0, 140.0, 141.0, 142.0)] == [1, 1, 2, 1, 2, 3]


def test_a_script_that_draws_a_picture_at_ctrl_c_is_not_killed_by_the_next_one(
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
    assert process.wait(timeout=60) == 0
    assert state(child_pid(tmp_path / "r")) == "gone"
    assert isinstance(only(tmp_path / "r", AttemptEnded), AttemptEnded)
