"""Checkpoints written in the background: a slow disk, a full one, a failed writer."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import numpy as np
import pytest

from holdfast.journal.events import Event, SaveDone, SaveFailed, SaveStarted
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.async_writer import AsyncCheckpointWriter
from holdfast.train.checkpoint.checkpoint_files import BEST, Snapshot
from tests.waiting import PATIENCE_S


def snapshot(step: int) -> Snapshot:
    return Snapshot(step, {"weights": {"w": np.full(3, step, np.float32)}}, {"step": step})


def test_a_corrupt_newest_one_does_not_crowd_out_what_is_written_after_resuming(tmp_path: Path) -> None:
    for step in (200, 400):
        checkpoint_files.write(tmp_path, snapshot(step))
    (tmp_path / "step-400" / "SHA256SUMS").unlink()
    writer = AsyncCheckpointWriter(tmp_path, keep=1, notify=lambda event: None)
    for step in (250, 300):
        writer.save(snapshot(step))
        assert writer.flush(PATIENCE_S)
    assert writer.failure is None
    assert [path.name for path in checkpoint_files.committed(tmp_path)] == ["step-300", "step-400"]
    writer.save(snapshot(400))
    assert writer.close(PATIENCE_S)
    assert [path.name for path in checkpoint_files.committed(tmp_path)] == ["step-400"]
    assert checkpoint_files.read(tmp_path / "step-400").step == 400


def test_a_slow_disk_is_waited_for_and_a_hurry_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    going_on, real = threading.Event(), checkpoint_files.write

    def slow(folder: Path, taken: Snapshot) -> Path:
        going_on.wait(PATIENCE_S)
        return real(folder, taken)

    monkeypatch.setattr(checkpoint_files, "write", slow)
    writer = AsyncCheckpointWriter(tmp_path, keep=3, notify=lambda event: None)
    writer.save(snapshot(1))
    assert not writer.flush(0.01)
    threading.Timer(0.3, going_on.set).start()
    assert writer.close(0.01, patient=True)
    assert checkpoint_files.committed(tmp_path) == [tmp_path / "step-1"]


def test_a_disk_that_refuses_is_not_waited_for(tmp_path: Path) -> None:
    writer = AsyncCheckpointWriter(tmp_path / "folder", keep=3, notify=lambda event: None, retry_after_s=0.05)
    (tmp_path / "folder").write_text("in the way")
    writer.save(snapshot(1))
    assert not writer.close(0.3, patient=True)
    assert writer.failure is not None


def test_a_writer_that_broke_has_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(folder: Path, taken: Snapshot) -> Path:
        raise ValueError("a defect")

    monkeypatch.setattr(checkpoint_files, "write", breaks)
    writer = AsyncCheckpointWriter(tmp_path, keep=3, notify=lambda event: None)
    writer.save(snapshot(1))
    assert not writer.close(PATIENCE_S)


def test_saved_in_the_background_and_reported(tmp_path: Path) -> None:
    events: list[Event] = []
    writer = AsyncCheckpointWriter(tmp_path, keep=2, notify=events.append)
    writer.save(snapshot(1), best=True)
    assert writer.flush(PATIENCE_S)
    for step in (2, 3, 4):
        writer.save(snapshot(step))
        assert writer.flush(PATIENCE_S)
    assert writer.close(PATIENCE_S)
    assert [path.name for path in checkpoint_files.committed(tmp_path)] == ["step-1", "step-3", "step-4"]
    assert checkpoint_files.read_pointer(tmp_path, BEST) == tmp_path / "step-1"
    kinds = [type(event) for event in events]
    assert kinds == [SaveStarted, SaveDone] * 4
    done = events[1]
    assert isinstance(done, SaveDone)
    assert done.step == 1
    assert done.bytes == sum(file.stat().st_size for file in (tmp_path / "step-1").iterdir())


def test_a_disk_that_refuses_stops_nothing_and_the_save_is_tried_again(tmp_path: Path) -> None:
    """A file where the folder should be refuses every write, also to root; removing it is freeing the disk."""
    folder = tmp_path / "checkpoints"
    folder.write_text("in the way")
    events: list[Event] = []
    refused = threading.Event()

    def notify(event: Event) -> None:
        events.append(event)
        if isinstance(event, SaveFailed):
            refused.set()

    writer = AsyncCheckpointWriter(folder, keep=3, notify=notify, retry_after_s=0.01)
    writer.save(snapshot(1), best=True)
    assert refused.wait(PATIENCE_S)
    writer.save(snapshot(2))
    folder.unlink()
    assert writer.close(PATIENCE_S)
    names = {path.name for path in checkpoint_files.committed(folder)}
    assert names == {"step-1", "step-2"}, "the best waited, and so did the newest"
    failed = next(event for event in events if isinstance(event, SaveFailed))
    assert failed.errno in (errno.EEXIST, errno.ENOTDIR)
    assert "trying again" in failed.error


def test_what_was_never_saved_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    folder.write_text("in the way")
    writer = AsyncCheckpointWriter(folder, keep=3, notify=lambda event: None, retry_after_s=0.01)
    writer.save(snapshot(1))
    assert not writer.close(timeout_s=0.2)


def test_the_best_that_was_never_written_is_returned(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("a file, and no folder")
    writer = AsyncCheckpointWriter(
        tmp_path / "checkpoints", keep=2, notify=lambda event: None, retry_after_s=0.01
    )
    writer.save(snapshot(10), best=True)
    writer.save(snapshot(20))
    assert not writer.close(0.2)
    assert writer.given_up is not None
    assert writer.given_up.step == 10
