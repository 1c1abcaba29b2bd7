"""A handler of the script's own stays its own, and what came is written down."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.journal import reader
from holdfast.probe.process import signal_handlers
from holdfast.probe.runtime.context import ProbeContext

from ..probed import new_context

_USED = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)
_by_name = signal.signal  # as a script has it that imports `signal` from `signal`, before any framework


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProbeContext]:
    below: Any = signal._signal  # type: ignore[attr-defined]
    before = {number: signal.getsignal(number) for number in _USED}
    yield new_context(tmp_path)
    monkeypatch.setattr(signal, "_signal", below)
    for number, handler in before.items():
        signal.signal(number, handler)


def test_what_came_is_told_before_the_handler_runs(context: ProbeContext) -> None:
    came: list[int] = []
    early = lambda number, frame: came.append(-number)  # noqa: E731

    def late(number: int, frame: object) -> None:
        came.append(number)

    signal.signal(signal.SIGUSR1, early)  # before the framework was imported
    signal_handlers.watch(context)
    assert signal.getsignal(signal.SIGUSR1) is early
    signal.signal(signal.SIGTERM, late)
    assert signal.getsignal(signal.SIGTERM) is late
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGUSR1)
    assert came == [signal.SIGTERM, -signal.SIGUSR1]
    told = [entry.event.signal for entry in reader.read(context.folder.journal)]  # type: ignore[attr-defined]
    assert told == ["SIGTERM", "SIGUSR1"]
    assert signal.signal(signal.SIGTERM, signal.SIG_IGN) is late
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_an_interrupt_that_the_script_catches_is_told(context: ProbeContext) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal_handlers.watch(context)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    told = [entry.event.signal for entry in reader.read(context.folder.journal)]  # type: ignore[attr-defined]
    assert told == ["SIGINT"]


def test_handlers_are_given_and_asked_for_by_name_or_by_place(context: ProbeContext) -> None:
    came: list[int] = []

    def handler(number: int, frame: object) -> None:
        came.append(number)

    signal_handlers.watch(context)
    signal.signal(signalnum=signal.SIGTERM, handler=handler)
    assert signal.getsignal(signalnum=signal.SIGTERM) is handler
    assert _by_name(signal.SIGUSR1, handler) is signal.SIG_DFL
    assert _by_name(signal.SIGUSR1, handler) is handler
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGUSR1)
    assert came == [signal.SIGTERM, signal.SIGUSR1]
    told = [entry.event.signal for entry in reader.read(context.folder.journal)]  # type: ignore[attr-defined]
    assert told == ["SIGTERM", "SIGUSR1"]


def test_the_modules_functions_are_pythons_own(context: ProbeContext) -> None:
    install, installed = signal.signal, signal.getsignal
    signal_handlers.watch(context)
    assert (signal.signal, signal.getsignal) == (install, installed)
    assert signal.sigpending() == set()
    with pytest.raises(TypeError, match=r"must be signal\.SIG_IGN"):
        signal.signal(signal.SIGTERM, "no handler")  # type: ignore[arg-type]
