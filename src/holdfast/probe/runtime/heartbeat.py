"""Where the training stands, and the beats that say so. One object a process, kept by the thread that trains."""

from __future__ import annotations

import threading
import time

from ...journal.beats import BeatWriter, Phase


class Heartbeat:
    """Counters and the phase. `enter` writes a beat; while steps are quick, `shift` and `turn` change the last one."""

    def __init__(self) -> None:
        self.ring: BeatWriter | None = None
        self.forget()

    def forget(self) -> None:
        """As at the start; a forked child begins so."""
        self.ring = None
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
        self.quick = False  # short steps are under way, and a beat was written a moment ago
        self._beaten_step = 0
        self._importing = 0

    def enter(self, phase: Phase, detail: int = 0) -> None:
        self.phase = phase
        self.detail = detail
        self.quick = False
        if self.ring is not None:
            self._beaten_step = self.step
            self.ring.write(
                phase, detail, self.fit, self.epoch, self.step, self.train_batches, self.test_batches,
                self.data_wait_ns, self.compute_ns, self.loss, self.step_ns,
            )  # fmt: skip

    def shift(self, phase: Phase, detail: int, now_ns: int) -> None:
        if not self.quick:
            self.enter(phase, detail)
            return
        self.phase = phase
        self.detail = detail
        if self.ring is not None:
            self.ring.update_counters(phase, detail, self.step - self._beaten_step, now_ns)

    def turn(self, phase: Phase) -> None:
        self.phase = phase
        if self.ring is not None:
            self.ring.update_phase(phase)

    def again(self) -> None:
        """The same phase, moved on."""
        self.enter(self.phase, self.detail)

    @property
    def here(self) -> bool:
        """Whether this thread is the one that trains: only its doings are the phase of the process."""
        return threading.get_ident() == self.thread

    def import_begins(self) -> None:
        self._importing += 1
        if self._importing == 1 and self.phase in (Phase.START, Phase.BUILD):
            self.enter(Phase.IMPORT)

    def import_ends(self) -> None:
        self._importing = max(0, self._importing - 1)
        if self._importing == 0 and self.phase is Phase.IMPORT:
            self.enter(Phase.BUILD)


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
