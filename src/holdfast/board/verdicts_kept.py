"""The verdict of a run for the page: the stored one where it is current, else made in another process, and kept."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.board import bounded_read, other_process
from holdfast.board.plain_values import loaded
from holdfast.board.verdict_shape import shaped
from holdfast.journal.folder import RunFolder

_KEPT = 64
_VERDICT_BYTES = 4 << 20
_AGAIN_S = 10.0  # the verdict of a run that moves is made anew at most so often
_WRITTEN_AFTER_S = 5.0


class VerdictCache:
    def __init__(self, explain: Callable[[Path], dict[str, Any]] = other_process.explain) -> None:
        self._explain = explain
        self._known: OrderedDict[str, tuple[int, float, dict[str, Any]]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, folder: RunFolder, *, version: int) -> dict[str, Any]:
        """`version` is that of the run's row: what did not change has the same verdict. Raises `NoAnswer`."""
        stored = stored_verdict(folder)
        if stored is not None:
            return stored
        key = str(folder.path)
        with self._lock:
            known = self._known.get(key)
        if known is not None and (known[0] == version or time.monotonic() - known[1] < _AGAIN_S):
            return known[2]
        verdict = shaped(self._explain(folder.path))
        with self._lock:
            self._known[key] = (version, time.monotonic(), verdict)
            self._known.move_to_end(key)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return verdict


def stored_verdict(folder: RunFolder) -> dict[str, Any] | None:
    """verdict.json, where nothing was recorded after it."""
    try:
        written = folder.verdict.lstat().st_mtime
        if folder.journal.exists() and folder.journal.lstat().st_mtime > written + _WRITTEN_AFTER_S:
            return None
        verdict = loaded(bounded_read.whole(folder.verdict, _VERDICT_BYTES), _VERDICT_BYTES)
    except OSError:
        return None
    return (
        shaped(verdict)
        if verdict.get("findings") is not None and verdict.get("outcome") != "running"
        else None
    )
