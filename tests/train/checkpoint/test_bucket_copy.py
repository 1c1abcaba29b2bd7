"""Which checkpoints of a bucket belong to a run, and the end of its uploads."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from holdfast.journal import events as ev
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter
from holdfast.train.checkpoint import bucket_copy
from holdfast.train.checkpoint.bucket_copy import BucketCopier, BucketFolders, RunBucket, copied_before
from tests.waiting import PATIENCE_S, until


def test_a_run_owns_what_it_uploaded(tmp_path: Path) -> None:
    journal = RunFolder(tmp_path).journal
    writer = JournalWriter(journal, by="trainer", attempt=1)
    writer.append(ev.MicroBatchSet(micro_batch=4))
    assert not copied_before(journal)
    writer.append(ev.CheckpointCopied(url="gs://runs/a/checkpoints/step-2"))
    assert copied_before(journal)


def test_without_a_bucket_nothing_is_fetched_or_uploaded(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    bucket = RunBucket(None, tmp_path, tmp_path / "checkpoints", events.append, resumes=True)
    bucket.require_empty()
    bucket.fetch()
    with bucket.uploading(stop_requested=lambda: False, grace_s=0.0) as copier:
        assert copier is None
        bucket.upload_model(tmp_path / "model.npz")
    assert events == []


def test_an_upload_that_is_pending_at_the_end_is_reported_however_the_run_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a signal: the grace period is over before the copy is."""
    started = []

    def hanging(self: BucketCopier, path: Path) -> bool:
        started.append(path)
        return False

    monkeypatch.setattr(BucketCopier, "_upload", hanging)
    monkeypatch.setattr(bucket_copy, "RETRY_S", 60.0)
    events: list[ev.Event] = []
    folders = BucketFolders("gs://runs/a/checkpoints")
    bucket = RunBucket(folders, tmp_path, tmp_path, events.append, resumes=False)
    (tmp_path / "step-1").mkdir()

    before = set(threading.enumerate())  # copiers of other tests may still wait for their bucket
    copiers: list[threading.Thread] = []

    def train() -> None:
        with bucket.uploading(stop_requested=lambda: True, grace_s=0.2) as copier:
            assert copier is not None
            copiers.extend(set(threading.enumerate()) - before)
            copier.notify(ev.SaveDone(path=str(tmp_path / "step-1"), step=1))
            until(lambda: started, "the upload")
            raise ValueError("the run failed")

    with pytest.raises(ValueError, match="the run failed"):
        train()
    (note,) = events
    assert isinstance(note, ev.Note)
    assert note.text == "the newest checkpoint is on this machine, and not yet in the bucket"
    (copier,) = [thread for thread in copiers if thread.name == "copies"]
    copier.join(PATIENCE_S)
    assert not copier.is_alive()
    assert len(started) == 1  # nothing is begun after the end
