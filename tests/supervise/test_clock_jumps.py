"""Clocks that jump by hours or years while a command runs, and a machine that was suspended before it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.journal.events import AttemptEnded, Stalled
from tests.supervise.running import events, only
from tests.waiting import PATIENCE_S

#: The wall clock jumps by JUMP_BY seconds once there is a file JUMP_AT.
JUMPS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, t);
  if (!result && id == CLOCK_REALTIME && !access(getenv("JUMP_AT"), F_OK)) t->tv_sec += atol(getenv("JUMP_BY"));
  return result;
}
time_t time(time_t *p) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); if (p) *p = t.tv_sec; return t.tv_sec; }
"""
RUN = [sys.executable, "-m", "holdfast", "run", "--run-dir", "r", "--stall-after", "20", "--"]
EXPLAIN = [sys.executable, "-m", "holdfast", "explain", "r"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
@pytest.mark.parametrize("by_s", [7200, -7200, 365 * 86400, -1_700_000_000], ids=str)
def test_a_wall_clock_that_jumps_changes_neither_durations_nor_the_verdict(by_s: int, tmp_path: Path) -> None:
    (tmp_path / "jumps.c").write_text(JUMPS)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "jumps.so", "jumps.c", "-ldl"], cwd=tmp_path, check=True)
    (tmp_path / "t.py").write_text(
        "import os, time\nbegan = time.time(); time.sleep(2)\nopen('jump', 'w').close()\n"
        "while abs(time.time() - began) < 3600: time.sleep(0.1)\n"
        "time.sleep(2)\nraise ValueError('after the jump')\n"
    )
    jump = {
        "LD_PRELOAD": str(tmp_path / "jumps.so"),
        "JUMP_AT": str(tmp_path / "jump"),
        "JUMP_BY": str(by_s),
    }
    done = subprocess.run(
        [*RUN, sys.executable, "t.py"], cwd=tmp_path, env=os.environ | jump, capture_output=True, text=True,
        timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "verdict[script-error]: ValueError at t.py:6: after the jump" in done.stderr
    ended = only(tmp_path / "r", AttemptEnded)
    assert isinstance(ended, AttemptEnded) and 1 < ended.duration_s < 3600
    assert not [one for one in events(tmp_path / "r") if isinstance(one, Stalled)]
    again = subprocess.run(EXPLAIN, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert again.stdout.splitlines()[0] == "verdict[script-error]: ValueError at t.py:6: after the jump"


def test_a_command_runs_though_the_machine_was_suspended_before(tmp_path: Path) -> None:
    """The kernel counts the start of a process with suspensions, the monotonic clock without: here an hour apart."""
    suspended = ["unshare", "--time", "--boottime", "3600", "--fork"]
    if not shutil.which("unshare") or subprocess.run([*suspended, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces of clocks here")
    (tmp_path / "t.py").write_text(
        "import subprocess, time\n"
        f"answer = subprocess.run({EXPLAIN!r}, capture_output=True, text=True)\n"
        "open('answer', 'w').write(answer.stdout)\n"
    )
    subprocess.run(
        [*suspended, *RUN, sys.executable, "t.py"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    answer = (tmp_path / "answer").read_text()
    assert answer.splitlines()[0].startswith("verdict[running]"), answer
