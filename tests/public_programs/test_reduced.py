"""The reductions and the comparison, without a training."""

from __future__ import annotations

from pathlib import Path

import pytest

from .reduced import ReductionError, backend_of, packages, reduced
from .scripts import SCRIPTS, Script
from .watched import Result, values

SOURCE = '''"""A title"""
import os
os.environ["KERAS_BACKEND"] = "jax"  # or torch
num_epochs = 30
batch_size = 8
warmup_epoch_percentage = 0.15
base = keras.applications.Xception(weights="imagenet")
x_val = x[-10000:]
model.fit(x.reshape(60000, 784), epochs=1, batch_size=256)
'''


def test_a_script_is_shortened_and_keeps_its_lines() -> None:
    copy = reduced(SOURCE, backend="torch", epochs=2, changes=((r"^batch_size = \d+", "batch_size = 4"),))
    assert copy.splitlines() == [
        'import public_stand_ins; """A title"""',
        "import os",
        'os.environ["KERAS_BACKEND"] = "torch"  # or torch',
        "num_epochs = 2",
        "batch_size = 4",
        "warmup_epoch_percentage = 0.15",
        "base = keras.applications.Xception(weights=None)",
        "x_val = x[-64:]",
        "model.fit(x.reshape(-1, 784), epochs=1, batch_size=32)",
    ]


def test_the_script_names_its_backend() -> None:
    assert backend_of(SOURCE, "tensorflow") == "jax"
    assert backend_of("import keras\n", "tensorflow") == "tensorflow"


def test_the_packages_of_a_script() -> None:
    assert packages("import os.path, keras\nfrom PIL import Image\ndef f():\n    import torch\n") == [
        "PIL",
        "keras",
        "os",
    ]


def test_a_change_that_fits_nothing_is_an_error() -> None:
    with pytest.raises(ReductionError, match="latent_dim"):
        reduced(SOURCE, backend="jax", epochs=2, changes=((r"latent_dim = 3", ""),))


def test_every_script_has_its_own_name() -> None:
    assert len({one.name for one in SCRIPTS}) == len(SCRIPTS) >= 60


def test_the_true_steps() -> None:
    counted = {"batches": 20, "epochs": 2, "updates": [7, 5, 5]}
    assert Script("a.py").truth(counted) == (20, 2)
    assert Script("a.py", count="updates").truth(counted) == (17, None)
    assert Script("a.py", count="updates", together=(-1,)).truth(counted) == (12, None)
    assert Script("a.py", count="largest").truth(counted) == (7, None)
    assert Script("a.py", steps=3).truth(counted) == (3, None)
    assert Script("a.py").truth({}) == (None, None)


def test_only_the_last_state_of_a_progress_bar_counts(tmp_path: Path) -> None:
    path = tmp_path / "output.txt"
    path.write_bytes(
        b"\r1/2 - loss: 3.5\x08\x08\r\x1b[1m2/2\x1b[0m 50ms/step - loss: 2.5000e-01 - acc: 0.5\n"
        b"epoch 0 is   1.25, time: 3.5\n"
    )
    assert values(path) == [("loss", "2.5000e-01"), ("acc", "0.5"), ("epoch 0", "1.25")]


def test_what_is_wrong() -> None:
    quiet = Result("a", "jax", outcome="finished", steps=4, true_steps=4, epochs=1, true_epochs=1)
    assert quiet.wrong() == []
    blamed = Result("a", "jax", "failed", ["x (supported)"], steps=3, true_steps=4, epochs=2, true_epochs=1)
    assert blamed.wrong() == ["blamed: x (supported)", "3 of 4 steps seen", "2 of 1 epochs seen"]
    assert Result("a", "jax", outcome="stalled").wrong() == ["outcome stalled"]
    rightly = Result("a", "jax", outcome="finished", rightly=["y (supported)"])
    assert rightly.wrong() == []
