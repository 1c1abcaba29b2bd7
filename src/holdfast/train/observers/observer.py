"""Observers of a run: the journal, results.csv, the terminal, and so on. They watch and cannot steer.

The loop reports what happened once, as an event of the journal; each observer makes of it what it shows.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Protocol

from holdfast.journal.beats import BeatWriter, Phase
from holdfast.journal.events import Event
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter


class Observer(Protocol):
    @property
    def name(self) -> str: ...  # for the message when it fails

    def notify(self, event: Event) -> None: ...


class Observers:
    """Notifies all, in order, from any thread. A failing observer is reported once and never stops the run."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._all = tuple(observers)
        self._lock = threading.RLock()
        self._reported: set[str] = set()

    def notify(self, event: Event) -> None:
        with self._lock:
            for observer in self._all:
                try:
                    observer.notify(event)
                except Exception as error:  # not even a defect of theirs stops the run
                    self._report_failure(observer.name, error)

    def _report_failure(self, who: str, error: Exception) -> None:
        if who not in self._reported:
            self._reported.add(who)
            what = "cannot be written" if isinstance(error, OSError) else f"raised {type(error).__name__}"
            print(f"holdfast: {who} {what}: {error}; training continues", file=sys.stderr, flush=True)


class JournalObserver:
    name = "the journal"

    def __init__(self, folder: RunFolder, attempt: int) -> None:
        self._writer = JournalWriter(folder.journal, by="trainer", attempt=attempt)

    def notify(self, event: Event) -> None:
        self._writer.append(event)


class TrainerHeartbeat:
    """Writes the heartbeats: where the loop is, in about a microsecond. Does nothing when the file cannot be made."""

    def __init__(self, folder: RunFolder, attempt: int) -> None:
        self.step = 0
        self.wait_ns = self.compute_ns = 0
        self.loss: float | None = None
        self._phase = Phase.BUILD
        try:
            self._ring: BeatWriter | None = BeatWriter(folder.beats, attempt=attempt)
        except OSError as error:
            self._ring = None
            print(f"holdfast: the heartbeats cannot be written: {error}; training continues", file=sys.stderr)

    def wait_share(self) -> float:
        """The share of the loop's time spent waiting for data."""
        return self.wait_ns / max(1, self.wait_ns + self.compute_ns)

    def in_step(self) -> bool:
        return self._phase in (Phase.STEP, Phase.COMPILE)

    def beat(self, phase: Phase, *, test_batches: int = 0, step_ns: int = 0) -> None:
        self._phase = phase
        if self._ring is not None:
            self._ring.write(
                phase, fit=1, step=self.step, train_batches=self.step, test_batches=test_batches,
                data_wait_ns=self.wait_ns, compute_ns=self.compute_ns, loss=self.loss, step_ns=step_ns,
            )  # fmt: skip
