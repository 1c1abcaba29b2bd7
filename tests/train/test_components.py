"""What a recipe is built into: the learning rate of the backbone, the model at the end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdfast import settings
from holdfast.journal.folder import RunFolder
from holdfast.train import components
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import BEST, Snapshot

pytestmark = pytest.mark.hot


@pytest.mark.parametrize(
    ("overrides", "factor"),
    [
        ([], 1.0),
        (["model.weights=imagenet"], 0.1),
        (["model.weights=imagenet", "train.backbone_rate=1.0"], 1.0),
        (["train.backbone_rate=0.5"], 0.5),
    ],
)
def test_given_weights_move_at_a_tenth(overrides: list[str], factor: float) -> None:
    from holdfast.train import components

    recipe = settings.resolve({"data": {"train": "somewhere"}}, overrides)
    assert components.optimizer_config(recipe).backbone_lr_factor == factor


def test_a_corrupt_best_checkpoint_is_reported_and_a_model_still_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import keras

    from holdfast.step.network import names_of

    monkeypatch.setattr(components.model_file, "save", lambda model, path: path.write_text("a model"))
    weight = keras.Variable(np.zeros(2, np.float32), name="w")
    model: Any = SimpleNamespace(trainable_variables=[weight], non_trainable_variables=[])
    folder, (name,) = RunFolder(tmp_path), names_of([weight])
    for step in (5, 9):
        state = {"weights": {name: np.full(2, step, np.float32)}}
        checkpoint_files.write(folder.checkpoints, Snapshot(step, state, {}))
    checkpoint_files.set_pointer(folder.checkpoints, BEST, "step-5")
    assert components.write_model(model, folder, 5) == (tmp_path / "model.npz", "")
    np.testing.assert_array_equal(weight.numpy(), [5, 5])
    assert components.write_model(model, folder, 7)[1] == (
        "step 7 was the best in validation, and its checkpoint is gone; the model has the weights of step 5"
    )
    weight.assign([1, 1])
    (folder.checkpoints / "step-5" / "weights.npz").write_bytes(b"torn")
    assert components.write_model(model, folder, 5)[1] == (
        "step 5 was the best in validation, and its checkpoint is corrupt: weights.npz has another checksum than "
        "when it was written; the model has the weights of the end"
    )
    np.testing.assert_array_equal(weight.numpy(), [1, 1])
