"""A real detector in two and in four processes, from a recipe to a model, as a user launches it.

Another order of sums rounds differently, and the gradient of a detector with fresh weights follows every rounding:
1e-7 in its weights is 3e-3 in its gradient (benchmarks/memory_remat.py). A step so short that the weights hardly move
keeps that from adding up; then the loss of every step, and what momentum has gathered of all gradients, must agree. A
image too many or too few, or a wrong share of it, would show by tens of percent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from holdfast.train.checkpoint import checkpoint_files
from tests.launch.test_peers import losses
from tests.train import shapes

pytestmark = [pytest.mark.hot, pytest.mark.proof, pytest.mark.timeout(3600)]

STEPS = 8
RECIPE = (
    shapes.RECIPE
    + f"""
backend = "jax"
steps = {STEPS}
batch = 8
optimizer = "sgd"
learning_rate = 1e-6
warmup_steps = 0
weight_decay = 0.0
clip_norm = 0.0
"""
)


def trained(folder: Path, recipe: Path, *words: str) -> Path:
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *words, str(recipe), "--run-dir", str(folder)],
        env=environment | {"JAX_COMPILATION_CACHE_DIR": str(folder.parent / "compiled")},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def gathered(folder: Path) -> dict[str, np.ndarray]:
    """What the optimizer has summed up of the gradients so far."""
    moments = checkpoint_files.read(folder / "checkpoints" / f"step-{STEPS}").groups["optimizer"]
    return {name: value.astype(np.float64) for name, value in moments.items() if name.startswith("first/")}


def apart(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> float:
    """As one vector, as a part of its length."""
    assert sorted(first) == sorted(second)
    whole = sum(float((value**2).sum()) for value in first.values())
    return (sum(float(((first[name] - second[name]) ** 2).sum()) for name in first) / whole) ** 0.5


@pytest.mark.parametrize("detector", ["ssd", "faster-rcnn"])
def test_a_detector_in_several_processes_is_that_of_one(detector: str, tmp_path: Path) -> None:
    data = json.dumps(str(shapes.write(tmp_path / "shapes", 24)))
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(data=data, detector=detector))
    one = trained(tmp_path / "one", recipe, "train", "--set", "train.micro_batch=8")
    for count in (2, 4):
        many = trained(tmp_path / f"of-{count}", recipe, "launch", "--processes", str(count))
        curves = losses(one), losses(many)
        shared = [step for step in curves[0] if step in curves[1]]  # one a second is written
        assert len(shared) >= 4
        off = max(abs(curves[1][step] / curves[0][step] - 1) for step in shared)
        far = apart(gathered(one), gathered(many))
        print(f"{detector}, {count} processes: losses off by {off:.1e}, the sum of gradients by {far:.1e}")
        assert off < 1e-4
        assert far < 0.02
