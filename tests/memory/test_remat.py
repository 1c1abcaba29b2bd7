"""Rematerialised blocks give the same step: loss and every gradient, through the real compiled step of a backend."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.hot

STEP = """
import sys
import numpy as np
from dataclasses import replace
from holdfast.detectors.build import build
from holdfast.detectors.spec import DetectorSpec
from holdfast.memory.estimate.step_inputs import batch_of
from holdfast.memory.step_config import StepConfig
from holdfast.memory.estimate.cpu_trial import build_step
from holdfast.step.network import detector_network
from holdfast.step.optimizer import OptimizerConfig

setup = StepConfig("retinanet", "mobilenet_v2", 64, 3, 4, batch=2, micro_batch=1, optimizer="sgd",
              normalization="group", changes_colour=False, backend=sys.argv[1])
batch = batch_of(setup, 2)
batch["images"] = np.random.default_rng(0).integers(0, 256, batch["images"].shape).astype(np.uint8)
after = []
for lean in (False, True):
    spec = DetectorSpec(setup.detector, setup.backbone, ("a", "b", "c"), (64, 64), normalization="group",
                        rematerialise=lean)
    network = detector_network(build(spec, seed=1), changes_colour=False, seed=0)
    step = build_step(setup, network, OptimizerConfig(optimizer="sgd"))
    fetched = step.fetch(step(batch, step=0, learning_rate=1.0, frozen=False))
    after.append((fetched, step.export()["optimizer"]))
(plain, moved), (lean, lean_moved) = after
assert abs(plain["loss"] / lean["loss"] - 1) < 1e-5, (plain["loss"], lean["loss"])
assert plain["gradient_norm"] > 0.1
worst, touched = 0.0, 0
for name, value in moved.items():
    if name.startswith("first/"):
        scale = max(np.abs(value).max(), 1e-6)
        touched += np.abs(value).max() > 1e-7
        worst = max(worst, float(np.abs(value - lean_moved[name]).max() / scale))
print("touched", touched, "worst", worst)
assert touched > 100, touched  # a backbone whose gradient was lost would leave most of them untouched
assert worst < 2e-3, worst
"""


@pytest.mark.proof
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_the_same_step_with_blocks_computed_twice(backend):
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        [sys.executable, "-c", STEP, backend], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
