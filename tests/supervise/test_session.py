"""The environment and the signals of a supervised command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.journal.events import ProgressPrinted
from holdfast.supervise import session
from tests.waiting import PATIENCE_S

from .running import only


def test_the_probe_comes_first_on_the_path(tmp_path: Path) -> None:
    environment = session.child_environment({"PYTHONPATH": "/mine", "A": "b"}, tmp_path, 2)
    assert environment["PYTHONPATH"] == f"{session.INJECT}{os.pathsep}/mine"
    assert environment["HOLDFAST_ATTEMPT"] == "2" and environment["A"] == "b"
    assert session.child_environment({}, tmp_path, 1)["PYTHONPATH"] == str(session.INJECT)


def test_signals_that_were_ignored_before_us_are_not_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    ignored = {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1}
    monkeypatch.setattr(
        signal, "getsignal", lambda number: signal.SIG_IGN if number in ignored else signal.SIG_DFL
    )
    assert session._ignored_signals() == ignored


#: `holdfast run`, whose monitor begins only when the command has printed all that it will print.
SLOW_START = """
import sys, time
from holdfast.cli.main import main
from holdfast.supervise import session

monitor = session.Monitor

def slow_monitor(*given, folder, **settings):
    while not folder.output.exists() or folder.output.stat().st_size == 0:
        time.sleep(0.01)
    return monitor(*given, folder=folder, **settings)

session.Monitor = slow_monitor
sys.exit(main(sys.argv[1:]))
"""


def test_what_a_command_prints_before_the_supervisor_is_ready_counts(tmp_path: Path) -> None:
    words = ["run", "--run-dir", "r", "--", "sh", "-c", "echo 'step 7/50 loss 0.5'; sleep 1"]
    subprocess.run([sys.executable, "-c", SLOW_START, *words], cwd=tmp_path, timeout=PATIENCE_S, check=False)
    found = only(tmp_path / "r", ProgressPrinted)
    assert isinstance(found, ProgressPrinted)
    assert (found.step, found.of, found.loss) == (7, 50, 0.5)
