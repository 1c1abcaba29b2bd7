"""Appends events to a journal: one line, one write, so that two processes may append to one file.

A write of a line with O_APPEND is one system call on a local file system: lines of the supervisor and of its child
never mix, and a SIGKILL leaves at most one partial line, at the end. A full disk can cut a line off too; the next event
then starts a new line, and the reader skips the partial one.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..secret_text import redacted_values
from . import events  # relative: the probe loads this package under another name
from .descriptor import OwnDescriptor
from .events import Event

#: Kinds that are worth a millisecond: they reach the disk before `append` returns.
_SYNCED = frozenset({"run_opened", "attempt_started", "attempt_ended", "run_closed", "stalled", "save_done"})


class JournalWriter:
    """Appends to one file. `by` names the writer: "supervisor", "probe", "trainer"."""

    def __init__(
        self,
        path: Path,
        *,
        by: str,
        attempt: int = 1,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.by = by
        self.attempt = attempt
        self._wall = wall
        self._monotonic = monotonic
        self._file = OwnDescriptor(path, os.O_RDWR | os.O_APPEND)

    def append(self, event: Event) -> None:
        """Writes the event. Raises OSError when the disk is full, or the file is gone."""
        line = encode(
            event,
            at=self._wall(),
            mono=self._monotonic(),
            by=self.by,
            pid=os.getpid(),
            attempt=self.attempt,
        )
        if not self._ends_with_newline():
            line = b"\n" + line
        self._write(line)
        if event.kind in _SYNCED:
            with contextlib.suppress(OSError):  # a file system without fsync is no reason to stop
                os.fsync(self._file.number)

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:  # an unreferenced writer closes its descriptor
        try:  # noqa: SIM105  # at the end of the interpreter there is no contextlib any more
            self._file.close()
        except Exception:
            pass

    def _ends_with_newline(self) -> bool:
        size = self._file.stat().st_size
        return size == 0 or os.pread(self._file.number, 1, size - 1) == b"\n"

    def _write(self, line: bytes) -> None:
        written = os.write(self._file.number, line)
        # A nearly full disk accepts a part; the rest is tried once more, then raises.
        while written < len(line):
            written += os.write(self._file.number, line[written:])


def encode(event: Event, *, at: float, mono: float, by: str, pid: int, attempt: int) -> bytes:
    """One line. The envelope comes first, so that a person can read it in `tail`."""
    envelope: dict[str, Any] = {
        "kind": event.kind,
        "at": round(at, 6),
        "mono": round(mono, 6),
        "by": by,
        "pid": pid,
        "attempt": attempt,
    }
    fields = {**envelope, "event": redacted_values(events.payload(event))}
    try:
        text = json.dumps(fields, ensure_ascii=True, allow_nan=False, default=str)
    except ValueError:  # JSON has no NaN or infinity, and other readers refuse Python's
        text = json.dumps(_finite(fields), ensure_ascii=True, allow_nan=False, default=str)
    return text.encode("ascii") + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
