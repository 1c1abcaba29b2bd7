"""A signal that arrives while data is awaited: the state is saved from another thread, or the loop sees to it."""

from __future__ import annotations

import os
import signal
import threading

from holdfast.train.save_on_signal import SaveOnSignal


def test_while_the_loop_waits_another_thread_saves_and_ends_the_process() -> None:
    left, told = threading.Event(), []
    rescue = SaveOnSignal(patience_s=0.0, leave=lambda code: (told.append(code), left.set()))
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        rescue.start(lambda name, left_s: told.append((name, left_s > 0)) or 143, grace_s=5.0)
        with rescue.waiting():
            os.kill(os.getpid(), signal.SIGTERM)
            assert left.wait(5.0)
            rescue._whole.release()  # in earnest the process has ended here
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, before)
    assert told == [("SIGTERM", True), 143]


def test_a_loop_that_ends_by_itself_is_left_alone() -> None:
    told: list[str] = []
    rescue = SaveOnSignal(patience_s=0.0, leave=lambda code: told.append("left"))
    rescue.end()
    rescue._rescue("SIGTERM", lambda name, left_s: told.append(name) or 143, left_s=0.01)
    with rescue.waiting():
        rescue._rescue("SIGTERM", lambda name, left_s: told.append(name) or 143, left_s=0.01)
    assert told == []
