"""Appends events and samples to the run folder; a full or missing disk is reported once and never stops the monitor."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.atomic_write import open_private
from holdfast.journal import vitals
from holdfast.journal.events import Event, WatchFailed
from holdfast.journal.folder import RunFolder
from holdfast.journal.vitals import Sample
from holdfast.journal.writer import JournalWriter
from holdfast.stderr import print_line

#: How often a sample is written, by the age of the run: a week then takes about 40 MB.
_FIRST_S = 1.0
_THINNING = ((3600.0, _FIRST_S), (12 * 3600.0, 5.0), (float("inf"), 15.0))


class Recorder:
    """Appends events and samples to the run folder; never raises into the monitor."""

    def __init__(
        self, folder: RunFolder, *, attempt: int = 1, print_line: Callable[[str], None] = print_line
    ) -> None:
        self.folder = folder
        self._print_line = print_line
        self._attempt = attempt
        self._writer: JournalWriter | None = None
        self._vitals: int | None = None
        self._reported: set[str] = set()
        self._written_at = float("-inf")
        self._written_phase = ""
        self._changed_at = float("-inf")  # when a sample was last written for its phase alone
        self._started_at: float | None = None

    @property
    def attempt(self) -> int:
        return self._attempt

    @attempt.setter
    def attempt(self, number: int) -> None:
        self._attempt = number
        if self._writer is not None:
            self._writer.attempt = number

    def wall(self) -> float:
        return time.time()

    def append(self, event: Event) -> bool:
        """Whether it has been written."""
        try:
            if self._writer is None:
                self._writer = JournalWriter(self.folder.journal, by="supervisor", attempt=self._attempt)
            self._writer.append(event)
        except Exception as error:  # a value that cannot be written is no reason to stop either
            self.report_failure("journal", error)
            return False
        return True

    def sample(self, sample: Sample, *, always: bool = False) -> None:
        """Writes the sample if it is due: one a second in the first hour, fewer later, and one more for a new phase."""
        self._started_at = sample.mono if self._started_at is None else self._started_at
        every_s = next(every for until, every in _THINNING if sample.mono - self._started_at < until)
        due = sample.mono - self._written_at >= every_s * 0.9
        if not (always or due):
            recent = every_s > _FIRST_S and sample.mono - self._changed_at < every_s
            if sample.phase == self._written_phase or recent:  # a custom loop changes it at every tick
                return
            self._changed_at = sample.mono
        self._written_at, self._written_phase = sample.mono, sample.phase
        try:
            if self._vitals is None:
                self._vitals = _open_appending(self.folder.vitals)
            os.write(self._vitals, vitals.encode(sample))
        except OSError as error:
            self.report_failure("vitals", error)

    def report_failure(self, part: str, error: Exception | str) -> None:
        """Prints and records once that a part of the monitoring failed. The command keeps running."""
        if part in self._reported:
            return
        self._reported.add(part)
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        self._print_line(f"holdfast: monitoring failed ({part}: {text}); your command keeps running")
        if part != "journal":
            self.append(WatchFailed(part=part, error=text))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._vitals is not None:
            os.close(self._vitals)
            self._vitals = None


def _open_appending(path: Path) -> int:
    return open_private(path, os.O_WRONLY | os.O_APPEND)
