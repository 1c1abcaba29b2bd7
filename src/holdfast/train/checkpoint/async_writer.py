"""Writes checkpoints in the background, and tries again when the disk refuses them.

`save` takes a host copy and returns. One thread writes. While it is busy or the disk is full, at most two snapshots
wait: the newest, and the best so far; older ones are superseded.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.journal.events import Event, SaveDone, SaveFailed, SaveStarted
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import Snapshot

RETRY_AFTER_S = 20.0


class AsyncCheckpointWriter:
    """`close` waits for pending snapshots; `failure` is the error of the last try, None after a success."""

    def __init__(
        self,
        folder: Path,
        *,
        keep: int,
        notify: Callable[[Event], None],
        retry_after_s: float = RETRY_AFTER_S,
    ) -> None:
        self._folder = folder
        self._keep = keep
        self._notify = notify
        self._retry_after_s = retry_after_s
        self._wake = threading.Condition()
        self._newest: Snapshot | None = None
        self._best: Snapshot | None = None
        self._busy = False
        self._closing = False
        self._broken: BaseException | None = None
        self.failure: OSError | None = None
        self.given_up: Snapshot | None = None  # the best so far, if it was never written
        self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)
        self._thread.start()

    def save(self, snapshot: Snapshot, *, best: bool = False) -> None:
        """Hands over a snapshot. Raises only when the writer thread has failed, never for a full disk."""
        with self._wake:
            if self._broken is not None:
                raise RuntimeError("the thread that writes checkpoints has ended") from self._broken
            self._newest = snapshot
            if best:
                self._best = snapshot
            self._wake.notify_all()

    def flush(self, timeout_s: float, *, patient: bool = False) -> bool:
        """Waits until nothing is pending. False after the timeout; `patient` has no timeout for a slow disk, only for
        one that refuses."""
        until = time.monotonic() + timeout_s
        with self._wake:
            while (self._busy or self._next() is not None) and self._broken is None:
                remaining_s = until - time.monotonic()
                if remaining_s <= 0 and not (patient and self.failure is None):
                    return False
                self._wake.wait(max(remaining_s, 1.0))
            return self._broken is None

    def close(self, timeout_s: float = 60.0, *, patient: bool = False) -> bool:
        """Ends the thread. True when every snapshot is on the disk."""
        done = self.flush(timeout_s, patient=patient)
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        self._thread.join(timeout=5.0)
        return done

    def _next(self) -> Snapshot | None:
        """The best first: if it is also the newest, one write serves both."""
        return self._best or self._newest

    def _work(self) -> None:
        try:
            while (pending := self._take()) is not None:
                snapshot, best = pending
                written = self._write(snapshot, best)
                self._finish(snapshot, best, written)
        except BaseException as error:  # a defect: the next save raises it
            with self._wake:
                self._broken = error
                self._busy = False
                self._wake.notify_all()

    def _take(self) -> tuple[Snapshot, bool] | None:
        with self._wake:
            while self._next() is None:
                if self._closing:
                    return None
                self._wake.wait()
            snapshot = self._next()
            assert snapshot is not None
            best = snapshot is self._best
            if snapshot is self._newest:
                self._newest = None
            if best:
                self._best = None
            self._busy = True
            return snapshot, best

    def _finish(self, snapshot: Snapshot, best: bool, written: bool) -> None:
        with self._wake:
            self._busy = False
            if not written:
                self._newest = self._newest or snapshot
                if best:
                    self._best = self._best or snapshot
                if not self._closing:
                    self._wake.wait(self._retry_after_s)  # a newer snapshot wakes it sooner
                if self._closing:
                    self.given_up, self._newest, self._best = self._best, None, None
            self._wake.notify_all()

    def _write(self, snapshot: Snapshot, best: bool) -> bool:
        path = self._folder / snapshot.name
        self._notify(SaveStarted(path=str(path), by="trainer"))
        started = time.monotonic()
        try:
            path = checkpoint_files.write(self._folder, snapshot)
            if best:
                checkpoint_files.set_pointer(self._folder, checkpoint_files.BEST, snapshot.name)
            checkpoint_files.prune(self._folder, keep=self._keep, written=snapshot.step)
            size = sum(file.stat().st_size for file in path.iterdir())
        except OSError as error:
            self.failure = error
            self._notify(
                SaveFailed(path=str(path), error=f"{error.strerror or error}; trying again",
                           errno=error.errno, free_bytes=_free_bytes(self._folder))
            )  # fmt: skip
            return False
        self.failure = None
        self._notify(
            SaveDone(path=str(path), bytes=size, duration_s=time.monotonic() - started, step=snapshot.step)
        )
        return True


def _free_bytes(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


class NullCheckpointWriter:
    """For the processes of a group that write no checkpoints: rank 0 does."""

    failure: OSError | None = None
    given_up: Snapshot | None = None

    def save(self, snapshot: Snapshot, *, best: bool = False) -> None:
        pass

    def flush(self, timeout_s: float, *, patient: bool = False) -> bool:
        return True

    def close(self, timeout_s: float = 60.0, *, patient: bool = False) -> bool:
        return True
