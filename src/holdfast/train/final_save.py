"""The last checkpoint of an attempt: written in time, or put elsewhere when the run folder does not take it."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from pathlib import Path

from holdfast.errors import FileError
from holdfast.journal import events as ev
from holdfast.journal.folder import RunFolder
from holdfast.train.checkpoint import emergency_save
from holdfast.train.checkpoint.async_writer import AsyncCheckpointWriter, NullCheckpointWriter
from holdfast.train.loop import TrainingLoop

CheckpointWriter = AsyncCheckpointWriter | NullCheckpointWriter
WRITER_SHARE = 0.6  # of the time left after a signal; the rest is for a copy elsewhere


class FinalSave:
    """`is_writer`: this process is the one that writes checkpoints."""

    def __init__(
        self,
        loop: TrainingLoop,
        writer: CheckpointWriter,
        folder: RunFolder,
        checkpoints: Path,
        notify: Callable[[ev.Event], None],
        *,
        is_writer: bool,
    ) -> None:
        self._loop, self._writer, self._notify = loop, writer, notify
        self._folder, self._checkpoints, self._is_writer = folder, checkpoints, is_writer

    def close_writer(self, timeout_s: float, *, patient: bool = False) -> FileError | None:
        """Waits for pending checkpoints. The error to end with, when the disk did not take them."""
        if self._writer.close(timeout_s, patient=patient):
            return None
        saved_paths: list[Path] = []
        with contextlib.suppress(Exception):  # the state may be what another error is about
            saved_paths = self._save_elsewhere()
        step = self._loop.state.step
        error = emergency_save.unsaved_error(self._checkpoints, step, saved_paths, self._writer.failure)
        self._notify(ev.SaveAbandoned(step=step, text=". ".join([error.what, *error.found])))
        return error

    def save_from_signal_thread(self, signal_name: str, remaining_s: float) -> int:
        """While the loop waits for data and does not react. Returns the exit code."""
        step = self._loop.state.step
        text = f"{signal_name} came while the loop waited for data; another thread saves step {step}"
        self._notify(ev.Note(text=text))
        self._loop.end_now(signal_name)
        self.close_writer(remaining_s * WRITER_SHARE)
        code = 128 + int(signal.Signals[signal_name])
        self._notify(ev.ExitStarted(exit_code=code, steps=step))
        return code

    def _save_elsewhere(self) -> list[Path]:
        if not self._is_writer:
            return []
        pending = [self._loop.snapshot(), *([self._writer.given_up] if self._writer.given_up else [])]
        by_step = {snapshot.step: snapshot for snapshot in pending}
        paths = [
            emergency_save.save_emergency_copy(snapshot, self._folder.path) for snapshot in by_step.values()
        ]
        return [path for path in paths if path is not None]
