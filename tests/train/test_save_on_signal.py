"""A signal that arrives while data is awaited: another thread saves the state, unless the loop reacts."""

from __future__ import annotations

import os
import signal
import threading

from holdfast.train.save_on_signal import SaveOnSignal
from tests.waiting import PATIENCE_S


def test_while_the_loop_waits_another_thread_saves_and_ends_the_process() -> None:
    left, told = threading.Event(), []
    on_signal = SaveOnSignal(patience_s=0.0, exit_process=lambda code: (told.append(code), left.set()))
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        on_signal.start(lambda name, left_s: told.append((name, left_s > 0)) or 143, grace_s=PATIENCE_S)
        with on_signal.waiting():
            os.kill(os.getpid(), signal.SIGTERM)
            assert left.wait(PATIENCE_S)
            on_signal._consistent.release()  # a real process has exited here
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, before)
    assert told == [("SIGTERM", True), 143]


def test_a_loop_that_ends_by_itself_is_left_alone() -> None:
    told: list[str] = []
    on_signal = SaveOnSignal(patience_s=0.0, exit_process=lambda code: told.append("left"))
    on_signal.end()
    on_signal._save("SIGTERM", lambda name, left_s: told.append(name) or 143, remaining_s=0.01)
    with on_signal.waiting():
        on_signal._save("SIGTERM", lambda name, left_s: told.append(name) or 143, remaining_s=0.01)
    assert told == []
