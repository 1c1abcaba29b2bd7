"""The environment and the signals of a supervised command."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.supervise import session


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
