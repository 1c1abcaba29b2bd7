"""How long ago a thread last ran."""

from __future__ import annotations

import subprocess
import sys
import time

from holdfast.host import procfs
from holdfast.host.last_run import seconds_since_run


def test_a_process_that_sleeps_has_not_run_since_it_fell_asleep() -> None:
    ready = "import sys, time; print('ready', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", ready], stdout=subprocess.PIPE) as sleeper:
        try:
            assert sleeper.stdout is not None and sleeper.stdout.readline()
            time.sleep(1.5)
            (since_s,) = seconds_since_run([(sleeper.pid, sleeper.pid)]).values()
            time.sleep(1.0)
            (later_s,) = seconds_since_run([(sleeper.pid, sleeper.pid)]).values()
        finally:
            sleeper.kill()
    assert since_s > 1.0
    assert later_s > since_s + 0.8


def test_a_busy_process_has_just_run() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            time.sleep(1.0)
            found = min(seconds_since_run([(busy.pid, busy.pid)])[busy.pid, busy.pid] for _ in range(5))
        finally:
            busy.kill()
    assert found < 1.0


def test_a_process_that_is_gone_is_left_out() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    assert procfs.stat(gone.pid) is None
    assert seconds_since_run([(gone.pid, gone.pid)]) == {}
