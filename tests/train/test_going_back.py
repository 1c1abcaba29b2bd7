"""What a session hands to the loop, to the saver and to the screen after something changed or went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.journal import events as ev
from holdfast.journal.folder import RunFolder
from holdfast.settings import resolve
from holdfast.train.checkpoint import resume
from holdfast.train.checkpoint.async_writer import AsyncCheckpointWriter, NullCheckpointWriter
from holdfast.train.checkpoint.checkpoint_files import Snapshot
from holdfast.train.training_run import TrainingRun

pytestmark = pytest.mark.hot


def recipe(**train: Any) -> Any:
    return resolve({"data": {"train": "data"}, "train": train}, [])


def saved(before: Any, *, step: int = 7, unapplied: int = 1) -> Snapshot:
    ones = np.ones(3, np.float32)
    optimizer = {"first/w": ones, "count": np.int32(5), "scale": np.float32(1), "good": np.int32(0),
                 "unapplied": np.int32(unapplied)}  # fmt: skip
    meta = {"recipe": resume.flatten(before), "progress": {}, "micro_batch": 4}
    return Snapshot(step, {"weights": {"w": ones * 2}, "optimizer": optimizer}, meta)


def session(folder: Path, now: Any, *, attempt: int = 1) -> TrainingRun:
    return TrainingRun(RunFolder(folder), now, attempt=attempt, resume=False, asked=lambda: "")


def test_what_is_gone_back_to_is_as_the_recipe_of_now_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest checkpoint is from before the change until the first new one is saved."""
    made = session(tmp_path, recipe(ema=0.9, on_nonfinite="rollback", precision="float16"))
    monkeypatch.setattr(made, "_newest", lambda: saved(recipe(ema=0.0)))
    found = made._newest_after(NullCheckpointWriter())
    assert found is not None
    assert found.groups["ema"]["w"].tolist() == [2, 2, 2]
    assert (int(found.groups["optimizer"]["unapplied"]), float(found.groups["optimizer"]["scale"])) == (
        0,
        2.0**15,
    )


def test_with_another_metric_the_best_is_counted_anew() -> None:
    before, now = (resume.flatten(recipe(monitor=monitor)) for monitor in ("AP50", "AP"))
    assert resume.changed_best_criteria(before, now) == 'train.monitor was "AP50", is "AP"'
    assert resume.changed_best_criteria(now, now) == ""


def told(folder: Path, attempt: int, micro_batch: int) -> None:
    session(folder, recipe(), attempt=attempt).say(ev.MicroBatchSet(micro_batch=micro_batch))


def test_a_micro_batch_that_somebody_sets_after_memory_ran_out_is_taken(tmp_path: Path) -> None:
    told(tmp_path, 1, 8)
    found = saved(recipe(micro_batch=8))
    assert session(tmp_path, recipe(micro_batch=16), attempt=2)._chosen_anew(found)
    assert not session(tmp_path, recipe(micro_batch=8), attempt=2)._chosen_anew(found)
    assert not session(tmp_path, recipe(), attempt=2)._chosen_anew(found)
    told(tmp_path, 2, 16)  # and memory ran out with it
    assert not session(tmp_path, recipe(micro_batch=16), attempt=3)._chosen_anew(found)


def test_the_best_that_the_disk_never_took_is_handed_out(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("a file, and no folder")
    saver = AsyncCheckpointWriter(
        tmp_path / "checkpoints", keep=2, say=lambda event: None, retry_after_s=0.01
    )
    saver.save(saved(recipe(), step=10), best=True)
    saver.save(saved(recipe(), step=20))
    assert not saver.close(0.2)
    assert saver.given_up is not None
    assert saver.given_up.step == 10


def test_copies_are_only_brought_when_they_are_this_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.train.checkpoint import bucket_copy

    brought: list[str] = []
    monkeypatch.setattr(bucket_copy, "fetch_newest", lambda url, folder, say: brought.append(url))
    now = resolve({"data": {"train": "data"}, "hardware": {"copy_to": "gs://runs/a"}}, [])
    session(tmp_path, now, attempt=2)._bring_from_bucket()
    assert brought == []
    session(tmp_path, now).say(ev.CheckpointCopied(url="gs://runs/a/checkpoints/step-2"))
    session(tmp_path, now, attempt=2)._bring_from_bucket()
    assert brought == ["gs://runs/a/checkpoints"]
