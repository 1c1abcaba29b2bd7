"""Saves a run that is asked to end while it waits for data.

A signal is a note for the interpreter, which reads it between two steps of Python. A trainer whose storage does not
answer stands inside TensorFlow and would not read it before it is killed. The state is whole there, so another thread
saves it. Inside a step it is not: then the newest checkpoint is what there is.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # for an end
LOOP_REACTS_WITHIN_S = 1.5  # for the loop to notice by itself; clouds give 30 s, some schedulers 5


class SaveOnSignal:
    """`waiting` marks where the loop waits; `save` is called from another thread, and then the process ends."""

    def __init__(
        self, *, patience_s: float = LOOP_REACTS_WITHIN_S, leave: Callable[[int], object] = os._exit
    ) -> None:
        self._patience_s, self._leave = patience_s, leave
        self._whole = threading.Lock()  # held by the loop wherever its state is in motion
        self._whole.acquire()
        self._ended = threading.Event()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self._whole.release()
        try:
            yield
        finally:
            self._whole.acquire()

    def start(self, save: Callable[[str, float], int], grace_s: float) -> None:
        """From the main thread. `save` gets the signal's name and the seconds left, and returns the exit code."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        arguments = (reading, save, grace_s)
        threading.Thread(target=self._watch, args=arguments, name="rescue", daemon=True).start()

    def end(self) -> None:
        """The loop has ended by itself."""
        self._ended.set()

    def _watch(self, reading: int, save: Callable[[str, float], int], grace_s: float) -> None:
        while not self._ended.is_set():
            numbers = [number for number in os.read(reading, 64) if number in STOP_SIGNALS]
            if numbers and not self._ended.wait(self._patience_s):
                self._rescue(signal.Signals(numbers[0]).name, save, grace_s - self._patience_s)

    def _rescue(self, name: str, save: Callable[[str, float], int], left_s: float) -> None:
        until = time.monotonic() + left_s
        if not self._whole.acquire(timeout=left_s):
            return
        if self._ended.is_set():
            self._whole.release()
            return
        try:
            code = save(name, max(1.0, until - time.monotonic()))
        except BaseException:
            self._whole.release()  # the loop may still go on by itself
            raise
        self._leave(code)
