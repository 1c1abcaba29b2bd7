"""A run is resumed although the file that it started from is gone: its checkpoint has all weights."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.detectors import model_file
from holdfast.journal import events as ev
from holdfast.journal import reader
from tests.train import shapes
from tests.train.kills import environment_for, weights_of
from tests.weights_import.object_detection_api.test_same_answers import network

pytestmark = [pytest.mark.hot, pytest.mark.long(30)]

ROOT = Path(__file__).parents[3]
RECIPE = """
[data]
train = {data}
validation_fraction = 0.25
augment = "none"
[model]
detector = "retinanet"
backbone = "mobilenet_v2"
input = 160
weights = {weights}
[train]
backend = "{backend}"
steps = 4
batch = 2
checkpoint_every = 2
deterministic = true
"""


def train(folder: Path, backend: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "train", *options, "--run-dir", str(folder)], cwd=ROOT,
        env=environment_for(backend, folder.parent), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("backend", ["tensorflow", pytest.param("jax", marks=pytest.mark.proof)])
def test_it_ends_with_the_same_bits(backend: str, tmp_path: Path) -> None:
    """In the API's arithmetic, and stretched images: neither of the two is in the recipe."""
    weights, run = tmp_path / "imported.npz", tmp_path / "run"
    model_file.save(network("fpnlite", tmp_path), weights)
    data = json.dumps(str(shapes.write(tmp_path / "shapes", 8)))
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(data=data, weights=json.dumps(str(weights)), backend=backend))
    train(run, backend, str(recipe))
    whole = weights_of(run)

    weights.unlink()
    shutil.rmtree(run / "checkpoints" / "step-4")
    train(run, backend, "--resume")
    restored = [
        one.event.iterations
        for one in reader.read(run / "journal.jsonl")
        if isinstance(one.event, ev.Restored)
    ]
    assert restored == [2]
    assert weights_of(run) == whole
