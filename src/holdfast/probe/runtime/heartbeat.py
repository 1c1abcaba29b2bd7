"""Counters and the phase of the training, and the beats that carry them. One object a process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ...journal.beats import BeatWriter, Phase


class Heartbeat:
    """`set_phase` writes a beat; while steps are quick, `set_phase_quietly` and `back_to` change the last one."""

    def __init__(self) -> None:
        self.writer: BeatWriter | None = None
        self.reset()

    def reset(self) -> None:
        """As at the start. A forked child begins so."""
        self.writer = None
        self.phase = Phase.START
        self.detail = 0
        self.fit = 0
        self.epoch = 0
        self.step = 0
        self.train_batches = 0
        self.test_batches = 0
        self.data_wait_ns = 0
        self.compute_ns = 0
        self.step_ns = 0
        self.loss: float | None = None
        self.thread = threading.get_ident()
        self.at_next_beat: Callable[[], None] | None = None  # called once, by `set_phase`
        self.quick = False  # short steps are under way, and a beat was written a moment ago
        self._beat_step = 0
        self._importing = 0

    def set_phase(self, phase: Phase, detail: int = 0) -> None:
        self.phase = phase
        self.detail = detail
        self.quick = False
        if self.at_next_beat is not None:
            call, self.at_next_beat = self.at_next_beat, None
            call()
        if self.writer is not None:
            self._beat_step = self.step
            self.writer.write(
                phase, detail, self.fit, self.epoch, self.step, self.train_batches, self.test_batches,
                self.data_wait_ns, self.compute_ns, self.loss, self.step_ns,
            )  # fmt: skip

    def set_phase_quietly(self, phase: Phase, detail: int, now_ns: int) -> None:
        if not self.quick:
            self.set_phase(phase, detail)
            return
        self.phase = phase
        self.detail = detail
        if self.writer is not None:
            self.writer.update_counters(phase, detail, self.step - self._beat_step, now_ns)

    def back_to(self, phase: Phase) -> None:
        self.phase = phase
        if self.writer is not None:
            self.writer.update_phase(phase)

    def repeat(self) -> None:
        """Writes the same phase again, with the newer counters."""
        self.set_phase(self.phase, self.detail)

    @property
    def is_training_thread(self) -> bool:
        """Whether the calling thread is the one that trains: only what it does is the phase of the process."""
        return threading.get_ident() == self.thread

    def import_begins(self) -> None:
        self._importing += 1
        if self._importing == 1 and self.phase in (Phase.START, Phase.BUILD):
            self.set_phase(Phase.IMPORT)

    def import_ends(self) -> None:
        self._importing = max(0, self._importing - 1)
        if self._importing == 0 and self.phase is Phase.IMPORT:
            self.set_phase(Phase.BUILD)


class Stopwatch:
    """Nanoseconds since it was made."""

    __slots__ = ("begun_ns",)

    def __init__(self) -> None:
        self.begun_ns = time.perf_counter_ns()

    @property
    def ns(self) -> int:
        return time.perf_counter_ns() - self.begun_ns

    @property
    def seconds(self) -> float:
        return self.ns / 1e9
