"""Writes to the run's folder without ever letting that disturb the watch: a full or missing disk is said once."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.journal import vitals
from holdfast.journal.events import Event, WatchFailed
from holdfast.journal.folder import RunFolder
from holdfast.journal.vitals import Sample
from holdfast.journal.writer import JournalWriter

#: How often a sample is kept, by the age of the run: a week then takes about 40 MB.
_FIRST_S = 1.0
_THINNING = ((3600.0, _FIRST_S), (12 * 3600.0, 5.0), (float("inf"), 15.0))


class Recorder:
    """The supervisor's pen."""

    def __init__(
        self, folder: RunFolder, *, attempt: int = 1, say: Callable[[str], None] | None = None
    ) -> None:
        self.folder = folder
        self._say = say or _to_stderr
        self._attempt = attempt
        self._writer: JournalWriter | None = None
        self._vitals: int | None = None
        self._complained: set[str] = set()
        self._kept_at = float("-inf")
        self._kept_phase = ""
        self._changed_at = float("-inf")  # when a sample was last kept for its phase alone
        self._began: float | None = None

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

    def append(self, event: Event) -> None:
        try:
            if self._writer is None:
                self._writer = JournalWriter(self.folder.journal, by="supervisor", attempt=self._attempt)
            self._writer.append(event)
        except OSError as error:
            self.complain("journal", error)

    def sample(self, sample: Sample, *, always: bool = False) -> None:
        """Keeps the sample if it is due: one a second in the first hour, fewer later, and one more for a new phase."""
        self._began = sample.mono if self._began is None else self._began
        every_s = next(every for until, every in _THINNING if sample.mono - self._began < until)
        due = sample.mono - self._kept_at >= every_s * 0.9
        if not (always or due):
            often = every_s > _FIRST_S and sample.mono - self._changed_at < every_s
            if sample.phase == self._kept_phase or often:  # a loop of one's own changes it at every look
                return
            self._changed_at = sample.mono
        self._kept_at, self._kept_phase = sample.mono, sample.phase
        try:
            if self._vitals is None:
                self._vitals = _open_appending(self.folder.vitals)
            os.write(self._vitals, vitals.encode(sample))
        except OSError as error:
            self.complain("vitals", error)

    def complain(self, part: str, error: Exception | str) -> None:
        """Says once that a part of the watch does not work. The child is not touched by it."""
        if part in self._complained:
            return
        self._complained.add(part)
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        self._say(f"holdfast: {part} is not recorded from here on: {text}; the command goes on")
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
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _to_stderr(text: str) -> None:
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
