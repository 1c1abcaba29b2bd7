"""Which micro-batch a run continues with after running out of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from holdfast.journal import events as ev
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter
from holdfast.settings import resolve
from holdfast.train.checkpoint import resume
from holdfast.train.checkpoint.checkpoint_files import Snapshot
from holdfast.train.oom_history import OomHistory, read_oom_history


def recipe(**train: Any) -> Any:
    return resolve({"data": {"train": "data"}, "train": train}, [])


def saved(before: Any, *, step: int = 7, unapplied: int = 1) -> Snapshot:
    ones = np.ones(3, np.float32)
    optimizer = {"first/w": ones, "count": np.int32(5), "scale": np.float32(1), "good": np.int32(0),
                 "unapplied": np.int32(unapplied)}  # fmt: skip
    meta = {"recipe": resume.flatten(before), "progress": {}, "micro_batch": 4}
    return Snapshot(step, {"weights": {"w": ones * 2}, "optimizer": optimizer}, meta)


def record(folder: Path, attempt: int, *events: ev.Event) -> None:
    writer = JournalWriter(RunFolder(folder).journal, by="trainer", attempt=attempt)
    for event in events:
        writer.append(event)


def history(folder: Path, now: Any, attempt: int) -> OomHistory:
    return read_oom_history(RunFolder(folder), attempt, now)


def test_a_micro_batch_that_was_configured_after_memory_ran_out_is_used(tmp_path: Path) -> None:
    record(tmp_path, 1, ev.MicroBatchSet(micro_batch=8))
    found = saved(recipe(micro_batch=8))
    assert history(tmp_path, recipe(micro_batch=16), 2).is_newly_configured(found)
    assert not history(tmp_path, recipe(micro_batch=8), 2).is_newly_configured(found)
    assert not history(tmp_path, recipe(), 2).is_newly_configured(found)
    record(tmp_path, 2, ev.MicroBatchSet(micro_batch=16))  # and memory ran out with it
    assert not history(tmp_path, recipe(micro_batch=16), 3).is_newly_configured(found)


def test_after_a_kill_for_memory_the_run_continues_with_half(tmp_path: Path) -> None:
    killed = ev.AttemptEnded(oom_kills_before=0, oom_kills_after=1)
    record(tmp_path, 1, ev.MicroBatchSet(micro_batch=8), killed)
    after = history(tmp_path, recipe(batch=16), 2)
    assert (after.ran_out, after.after_kill, after.micro_batch(None)) == (True, (8, 4), 4)
    assert after.micro_batch(saved(recipe(batch=16))) == 4
    assert history(tmp_path, recipe(batch=16, micro_batch=2), 2).micro_batch(saved(recipe(batch=16))) is None


def test_without_a_kill_the_size_of_the_checkpoint_or_the_last_attempt_is_kept(tmp_path: Path) -> None:
    record(tmp_path, 1, ev.MicroBatchSet(micro_batch=8), ev.AttemptEnded())
    after = history(tmp_path, recipe(batch=16), 2)
    assert (after.ran_out, after.after_kill) == (False, None)
    assert (after.micro_batch(None), after.micro_batch(saved(recipe(batch=16)))) == (8, 4)
    assert history(tmp_path, recipe(batch=6), 2).micro_batch(None) is None  # does not divide the batch
    assert history(tmp_path, recipe(batch=16), 1).micro_batch(None) is None  # a first attempt has no history
