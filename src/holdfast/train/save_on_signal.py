"""Saves a run that is asked to stop while it waits for data.

Python handles a signal between two of its instructions. A trainer whose storage hangs waits inside TensorFlow, and
would be killed before it handles it. Its state is consistent there, so another thread saves it. During a step it is
not: then the newest checkpoint has to do.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LOOP_REACTS_WITHIN_S = 1.5  # for the loop to react by itself; clouds give 30 s, some schedulers 5


class SaveOnSignal:
    """`waiting` marks where the loop waits; `save` is called from another thread, and then the process exits."""

    def __init__(
        self, *, patience_s: float = LOOP_REACTS_WITHIN_S, exit_process: Callable[[int], object] = os._exit
    ) -> None:
        self._patience_s, self._exit_process = patience_s, exit_process
        self._consistent = threading.Lock()  # taken by the loop while it changes its state
        self._consistent.acquire()
        self._ended = threading.Event()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self._consistent.release()
        try:
            yield
        finally:
            self._consistent.acquire()

    def start(self, save: Callable[[str, float], int], grace_s: float) -> None:
        """From the main thread. `save` gets the signal's name and the remaining seconds, and returns the exit code."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        arguments = (reading, save, grace_s)
        threading.Thread(target=self._watch, args=arguments, name="save-on-signal", daemon=True).start()

    def end(self) -> None:
        """The loop has ended."""
        self._ended.set()

    def _watch(self, reading: int, save: Callable[[str, float], int], grace_s: float) -> None:
        while not self._ended.is_set():
            numbers = [number for number in os.read(reading, 64) if number in STOP_SIGNALS]
            if numbers and not self._ended.wait(self._patience_s):
                self._save(signal.Signals(numbers[0]).name, save, grace_s - self._patience_s)

    def _save(self, name: str, save: Callable[[str, float], int], remaining_s: float) -> None:
        until = time.monotonic() + remaining_s
        if not self._consistent.acquire(timeout=remaining_s):
            return
        if self._ended.is_set():
            self._consistent.release()
            return
        try:
            code = save(name, max(1.0, until - time.monotonic()))
        except BaseException:
            self._consistent.release()  # the loop may still continue
            raise
        self._exit_process(code)
