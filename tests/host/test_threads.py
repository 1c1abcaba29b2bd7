"""Calls in a thread of their own."""

from __future__ import annotations

import threading

from tests.waiting import PATIENCE_S

from holdfast.host.threads import BackgroundCall, PeriodicReader


def test_a_call_has_a_result_or_an_error() -> None:
    call = BackgroundCall(lambda: 7)
    assert call.wait(PATIENCE_S) and (call.result, call.error) == (7, None)
    failed = BackgroundCall(lambda: 1 // 0)
    assert failed.wait(PATIENCE_S) and failed.result is None and isinstance(failed.error, ZeroDivisionError)


def test_a_call_that_hangs_is_not_waited_for() -> None:
    release = threading.Event()
    call = BackgroundCall(release.wait)
    assert not call.wait(0.0) and not call.done
    release.set()
    assert call.wait(PATIENCE_S)


def test_the_newest_reading_is_there_until_the_next_one() -> None:
    read = threading.Event()
    reader = PeriodicReader(lambda: read.set() or "read", "first", every_s=0.0)
    assert read.wait(PATIENCE_S)
    reader.stop()
    reader._thread.join(PATIENCE_S)
    assert reader.latest == "read"
