"""A handler of the script's own stays its own, and what came is written down."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.journal import reader
from holdfast.probe import signals
from holdfast.probe.session import Session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    install, installed = signal.signal, signal.getsignal
    before = installed(signal.SIGTERM), installed(signal.SIGUSR1), installed(signal.SIGINT)
    monkeypatch.setattr(signal, "signal", install)
    monkeypatch.setattr(signal, "getsignal", installed)
    yield Session(str(tmp_path), attempt=1, role="main")
    install(signal.SIGTERM, before[0])
    install(signal.SIGUSR1, before[1])
    install(signal.SIGINT, before[2])


def test_what_came_is_told_before_the_handler_runs(session: Session) -> None:
    came: list[int] = []
    early = lambda number, frame: came.append(-number)  # noqa: E731

    def late(number: int, frame: object) -> None:
        came.append(number)

    signal.signal(signal.SIGUSR1, early)  # before the framework was imported
    signals.watch(session)
    assert signal.getsignal(signal.SIGUSR1) is early
    signal.signal(signal.SIGTERM, late)
    assert signal.getsignal(signal.SIGTERM) is late
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGUSR1)
    assert came == [signal.SIGTERM, -signal.SIGUSR1]
    told = [entry.event.signal for entry in reader.read(session.folder.journal)]  # type: ignore[attr-defined]
    assert told == ["SIGTERM", "SIGUSR1"]
    assert signal.signal(signal.SIGTERM, signal.SIG_IGN) is late
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_an_interrupt_that_the_script_catches_is_told(session: Session) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signals.watch(session)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    told = [entry.event.signal for entry in reader.read(session.folder.journal)]  # type: ignore[attr-defined]
    assert told == ["SIGINT"]
