"""Who sees a run: the journal, the heartbeats, the table of results, the terminal. They see and cannot steer.

The loop says what happened once, as an event of the journal; each witness makes of it what it shows.
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
    def say(self, event: Event) -> None: ...


class Observers:
    """Tells all, in order, from any thread. One that goes wrong is told of once and never stops the run."""

    def __init__(self, all_of_them: Sequence[Observer]) -> None:
        self._all = tuple(all_of_them)
        self._lock = threading.RLock()
        self._complained: set[str] = set()

    def say(self, event: Event) -> None:
        with self._lock:
            for witness in self._all:
                try:
                    witness.say(event)
                except Exception as error:  # they see, and cannot steer: not by a defect of their own either
                    self._complain(type(witness).__name__, error)

    def _complain(self, who: str, error: Exception) -> None:
        if who not in self._complained:
            self._complained.add(who)
            what = "cannot be written" if isinstance(error, OSError) else f"raised {type(error).__name__}"
            print(f"holdfast: {who} {what}: {error}; training goes on", file=sys.stderr, flush=True)


class JournalObserver:
    def __init__(self, folder: RunFolder, attempt: int) -> None:
        self._writer = JournalWriter(folder.journal, by="trainer", attempt=attempt)

    def say(self, event: Event) -> None:
        self._writer.append(event)


class TrainerHeartbeat:
    """The heartbeats: where the loop is, in about a microsecond. Silent when the ring cannot be made."""

    def __init__(self, folder: RunFolder, attempt: int) -> None:
        self.step = 0
        self.wait_ns = self.compute_ns = 0
        self.loss: float | None = None
        try:
            self._ring: BeatWriter | None = BeatWriter(folder.beats, attempt=attempt)
        except OSError as error:
            self._ring = None
            print(f"holdfast: the heartbeats cannot be written: {error}; training goes on", file=sys.stderr)

    def wait_share(self) -> float:
        """The part of the loop's time that was spent waiting for data."""
        return self.wait_ns / max(1, self.wait_ns + self.compute_ns)

    def beat(self, phase: Phase, *, test_batches: int = 0, step_ns: int = 0) -> None:
        if self._ring is not None:
            self._ring.write(
                phase, fit=1, step=self.step, train_batches=self.step, test_batches=test_batches,
                data_wait_ns=self.wait_ns, compute_ns=self.compute_ns, loss=self.loss, step_ns=step_ns,
            )  # fmt: skip
