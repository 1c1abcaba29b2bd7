"""What a run hands to its loop after the recipe has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.journal.folder import RunFolder
from holdfast.settings import resolve
from holdfast.train.checkpoint import resume
from holdfast.train.checkpoint.async_writer import NullCheckpointWriter
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


def training_run(folder: Path, now: Any, *, attempt: int = 1) -> TrainingRun:
    return TrainingRun(RunFolder(folder), now, attempt=attempt, resume=False, stop_signal=lambda: "")


def test_a_rollback_adapts_the_checkpoint_to_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest checkpoint is from before the change until the first new one is saved."""
    made = training_run(tmp_path, recipe(ema=0.9, on_nonfinite="rollback", precision="float16"))
    monkeypatch.setattr(made, "_newest_checkpoint", lambda: saved(recipe(ema=0.0)))
    found = made._newest_after_flush(NullCheckpointWriter())
    assert found is not None
    assert found.groups["ema"]["w"].tolist() == [2, 2, 2]
    assert (int(found.groups["optimizer"]["unapplied"]), float(found.groups["optimizer"]["scale"])) == (
        0,
        2.0**15,
    )
