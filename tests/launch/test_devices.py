"""Several devices of one process give what one device gives, to float rounding: both engines, with accumulation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.hot, pytest.mark.long(20)]

ROOT = Path(__file__).parent.parent.parent

SCRIPT = """
import sys
import numpy as np
from holdfast.step.optimizer import OptimizerConfig

backend, devices = sys.argv[1], 2
if backend == "jax":
    from holdfast.train import process_group
    process_group.split_cpu(devices)
else:
    from holdfast.step.tensorflow_mirrored import MirroredStep, devices_of_host
    places = devices_of_host(devices)
from tests.train import tiny

def run(made, steps):
    return [made.fetch(made(tiny.batch(n, 8), step=n, learning_rate=1e-2, frozen=False)) for n in steps]

config = OptimizerConfig(weight_decay=0.01, clip_norm=5.0, ema=0.9)
if backend == "jax":
    from holdfast.step.jax_distributed import DistributedJaxStep
    many = DistributedJaxStep(tiny.network(), config, batch=8, micro_batch=2, per_process=devices)
else:
    many = MirroredStep(tiny.network(), config, batch=8, micro_batch=2, devices=places)
assert many.batch == 4 and many.micro_batch == 2
one = tiny.step(config=config, micro=8)
losses = [[numbers["loss"] for numbers in run(step, range(12))] for step in (one, many)]
np.testing.assert_allclose(losses[0], losses[1], rtol=2e-5)
assert losses[0][-1] < losses[0][0]
for group in ("weights", "ema", "optimizer"):
    first, second = one.export()[group], many.export()[group]
    assert sorted(first) == sorted(second)
    for name in first:
        np.testing.assert_allclose(first[name], second[name], rtol=1e-4, atol=2e-6, err_msg=name)
assert many.traces() == 1
saved = many.export()
after = [numbers["loss"] for numbers in run(many, range(12, 15))]
many.load(saved)
again = [numbers["loss"] for numbers in run(many.split(1), range(12, 15))]
np.testing.assert_allclose(again, after, rtol=1e-5)
print("equal")
"""


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_two_devices_are_as_one(backend: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, backend], cwd=ROOT, capture_output=True, text=True, timeout=5 * PATIENCE_S,
        env=os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert done.stdout.endswith("equal\n"), done.stdout + done.stderr[-3000:]
