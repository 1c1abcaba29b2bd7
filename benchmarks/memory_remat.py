"""Rematerialisation on the processor: memory and time of a training step with and without, and their gradients.

    python benchmarks/memory_remat.py [OUT [BACKEND]]        # three processes for each backend, or for one

The memory is what is resident at the highest during the steps after the first, above what was resident when the model
was built and no step had run (pages of files left out): an allocator that keeps what a step has used does not hide it.
The time is that of all cores together, their median. All start from the same weights and the same batch. With plain
momentum the state after the first step holds the gradient itself: the two are compared number by number. Fresh weights
make a gradient that rounding moves by itself, so a third process shows by how much: without rematerialisation, with
every weight changed by a ten-millionth.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.memory.step_config import StepConfig, from_json

STEPS = 4
CASES = [
    StepConfig(
        "retinanet",
        "mobilenet_v2",
        256,
        20,
        20,
        8,
        8,
        optimizer="sgd",
        normalization="group",
        backend=backend,
    )
    for backend in ("tensorflow", "jax")
]


def main(out: Path, backend: str = "") -> None:
    for setup in [case for case in CASES if backend in ("", case.backend)]:
        with tempfile.TemporaryDirectory() as folder:
            lean = replace(setup, rematerialise=True)
            found = {
                "setup": setup.label(),
                "backend": setup.backend,
                "plain": _process(setup, Path(folder) / "plain.npz"),
                "rematerialised": _process(lean, Path(folder) / "lean.npz"),
                "nudged": _process(setup, Path(folder) / "nudged.npz"),
                "difference": _compared(Path(folder) / "plain.npz", Path(folder) / "lean.npz"),
                "difference_of_nudged": _compared(Path(folder) / "plain.npz", Path(folder) / "nudged.npz"),
            }
        with open(out, "a") as file:
            file.write(json.dumps(found) + "\n")
        print(json.dumps(found), flush=True)


def _process(setup: StepConfig, gradient: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "one", json.dumps(setup.as_json()), str(gradient)],
        env={**os.environ, "KERAS_BACKEND": setup.backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def one(setup: StepConfig, gradient: Path) -> None:
    import numpy as np

    from holdfast.detectors.build import build
    from holdfast.memory.estimate.cpu_trial import (
        build_step,
        reset_peak,
        resident_bytes,
        resident_peak_bytes,
        trim_allocator,
    )
    from holdfast.memory.estimate.step_inputs import batch_of, optimizer_config_of, spec_of
    from holdfast.step.network import detector_network

    net = detector_network(build(spec_of(setup), seed=1), changes_colour=True, seed=0)
    if gradient.stem == "nudged":
        dice = np.random.default_rng(1)
        for variable in net.trainable:
            value = np.asarray(variable)
            variable.assign(value * (1 + 1e-7 * dice.standard_normal(value.shape)).astype(value.dtype))
    step = build_step(setup, net, replace(optimizer_config_of(setup), weight_decay=0.0, clip_norm=None))
    batch = batch_of(setup, setup.batch)
    batch["images"] = np.random.default_rng(0).integers(0, 256, batch["images"].shape).astype(np.uint8)
    before = resident_bytes()
    fetched = step.fetch(step(batch, step=0, learning_rate=1e-3, frozen=False))  # compiles
    moments = step.export()["optimizer"]
    np.savez(gradient, **{name: value for name, value in moments.items() if name.startswith("first/")})
    trim_allocator()
    reset_peak()
    times = []
    for number in range(1, 1 + STEPS):
        began = time.process_time()
        step.fetch(step(batch, step=number, learning_rate=1e-3, frozen=False))
        times.append(time.process_time() - began)
    print(json.dumps({"loss": fetched["loss"], "step_cpu_s": statistics.median(times),
                      "steps_bytes": resident_peak_bytes() - before}), flush=True)  # fmt: skip


def _compared(first: Path, second: Path) -> dict[str, float]:
    """Of the whole gradient as one vector, and of its largest numbers variable by variable."""
    import numpy as np

    one, other = np.load(first), np.load(second)
    worst, whole, apart = 0.0, 0.0, 0.0
    for name in one.files:
        value, difference = one[name].astype(np.float64), other[name] - one[name].astype(np.float64)
        whole += float((value**2).sum())
        apart += float((difference**2).sum())
        worst = max(worst, float(np.abs(difference).max() / max(np.abs(value).max(), 1e-12)))
    return {"of_the_whole": (apart / whole) ** 0.5, "worst": worst, "variables": len(one.files)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(from_json(json.loads(sys.argv[2])), Path(sys.argv[3]))
    else:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else "memory_remat.jsonl"), *sys.argv[2:3])
