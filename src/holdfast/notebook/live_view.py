"""Keeps the output under a cell current while the cell runs, by the plain display protocol: no widget server."""

from __future__ import annotations

import contextvars
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.board import run_row
from holdfast.explain.finding import Verdict
from holdfast.journal.beats import BeatReader
from holdfast.journal.folder import RunFolder
from holdfast.notebook import cell_view

_EVERY_S, _LATER_EVERY_S = 1.0, 3.0
_LATER_AFTER_S = 300.0  # what is kept of a long cell in the browser is bounded by fewer updates

#: Shows a bundle of MIME types under this name, or replaces what it showed.
Show = Callable[[dict[str, str], str, bool], None]


class LiveView:
    """One output. Updates come from a thread, so a cell that holds the interpreter is shown late."""

    def __init__(self, folder: Path, show: Show, *, every_s: float = _EVERY_S) -> None:
        self._folder = RunFolder(folder)
        self._name = "holdfast-" + uuid.uuid4().hex[:12]
        self._show = show
        self._every_s = every_s
        self._began = time.monotonic()
        self._stop = threading.Event()
        self._last: dict[str, str] = {}
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._last = self._bundle()
        self._show(self._last, self._name, False)
        # The messages of the thread belong to the cell that is running now: ipykernel keeps that in a context variable.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._follow,), daemon=True)
        self._thread.start()

    def end(self, verdict: Verdict | None) -> None:
        """The verdict takes the place of the live view."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5.0)
        if verdict is None:
            return
        folder, since_s = str(self._folder.path), self._since_s()
        bundle = cell_view.verdict_bundle(verdict, self._row(), folder=folder, since_s=since_s)
        self._show(bundle, self._name, True)

    def _follow(self) -> None:
        while not self._stop.wait(self._every_s if self._since_s() < _LATER_AFTER_S else _LATER_EVERY_S):
            try:
                bundle = self._bundle()
                if bundle != self._last:
                    self._last = bundle
                    self._show(bundle, self._name, True)
            except Exception:  # the cell must not notice
                return

    def _since_s(self) -> float:
        return time.monotonic() - self._began

    def _bundle(self) -> dict[str, str]:
        row, folder = self._row(), str(self._folder.path)
        return {
            "text/html": cell_view.live_html(row, folder=folder, since_s=self._since_s()),
            "text/plain": cell_view.live_text(row, folder=folder, since_s=self._since_s()),
        }

    def _row(self) -> dict[str, Any]:
        """As on the board, with the newest heartbeat: samples are a second old."""
        row = run_row.read_row(self._folder, time.time())
        if row["state"] == "not watched":  # before the first sample
            row["state"] = "running"
        reader = BeatReader(self._folder.beats)
        try:
            beat = reader.newest()
        finally:
            reader.close()
        if beat is not None and beat.step >= row.get("step", 0):
            row["step"] = beat.step
            if beat.has_loss:
                row["loss"] = beat.loss
        return row
