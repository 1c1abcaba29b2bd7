"""The process of the trainer: signals and exit codes."""

from __future__ import annotations

import signal

import pytest

from holdfast.train.__main__ import EXIT_CODES, StopSignal

pytestmark = pytest.mark.hot


def test_a_terminal_that_closes_asks_for_an_end_and_nohup_does_not() -> None:
    taken = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in taken}
    try:
        asked = StopSignal()
        signal.raise_signal(signal.SIGHUP)
        assert (asked(), EXIT_CODES[asked()]) == ("SIGHUP", 129)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        ignoring = StopSignal()
        signal.raise_signal(signal.SIGHUP)
        assert ignoring() == ""
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
