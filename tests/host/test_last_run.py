"""How long ago a thread last ran."""

from __future__ import annotations

import subprocess
import sys
import time

from tests.waiting import until

from holdfast.host import procfs
from holdfast.host.last_run import seconds_since_run


def since_run(pid: int) -> float:
    return seconds_since_run([(pid, pid)])[pid, pid]


def test_a_process_that_sleeps_has_not_run_since_it_fell_asleep() -> None:
    ready = "import sys, time; print('ready', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", ready], stdout=subprocess.PIPE) as sleeper:
        try:
            assert sleeper.stdout is not None and sleeper.stdout.readline()
            until(lambda: since_run(sleeper.pid) > 1.0, "a second of sleep")
            since_s = since_run(sleeper.pid)
            time.sleep(1.0)
            later_s = since_run(sleeper.pid)
        finally:
            sleeper.kill()
    assert later_s > since_s + 0.8


def test_a_busy_process_has_just_run() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            time.sleep(1.0)
            until(lambda: since_run(busy.pid) < 1.0, "a moment in which it gets a processor")
        finally:
            busy.kill()


def test_a_process_that_is_gone_is_left_out() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    assert procfs.stat(gone.pid) is None
    assert seconds_since_run([(gone.pid, gone.pid)]) == {}
