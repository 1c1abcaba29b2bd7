"""What a process of a group keeps of itself when it joins JAX's others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.launch.connection import free_port
from tests.launch.test_group import ENGINE, ROOT

pytestmark = pytest.mark.hot

JOINS_AND_IS_STOPPED = """
import os, signal, sys
from pathlib import Path
from holdfast.journal.group_membership import GroupMembership
from holdfast.train import process_group
from holdfast.train.__main__ import StopSignal

stop_signal = StopSignal()
process_group.join_group(GroupMembership(0, 1, sys.argv[1], Path()), devices=1)
os.kill(os.getpid(), int(sys.argv[2]))
print("asked to stop by", stop_signal())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_still_reaches_the_trainer_after_it_has_joined(
    number: signal.Signals, tmp_path: Path
) -> None:
    """JAX takes SIGTERM for its own notice of preemption, unless it is not to."""
    done = subprocess.run(
        [sys.executable, "-c", JOINS_AND_IS_STOPPED, f"127.0.0.1:{free_port()}", str(int(number))],
        cwd=ROOT, env=os.environ | ENGINE, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1:] == [f"asked to stop by {number.name}"], done.stdout + done.stderr
