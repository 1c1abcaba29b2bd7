"""Rematerialisation on the processor: memory and time of a training step with and without, and their gradients.

    python benchmarks/memory_remat.py [OUT]        # two processes for each backend and detector

The memory is what is resident at the highest during steps, above what was resident before them (pages of files left
out); the time is that of all cores together, the median of the steps after the first. Both processes start from the
same weights and the same batch. With plain momentum the state after the first step holds the gradient itself: the two
are compared number by number.
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

from holdfast.memory.setup import Setup, from_json

STEPS = 4
CASES = [
    Setup(
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


def main(out: Path) -> None:
    for setup in CASES:
        with tempfile.TemporaryDirectory() as folder:
            plain, lean = (
                _process(replace(setup, rematerialise=lean), Path(folder)) for lean in (False, True)
            )
            found = {"setup": setup.short(), "backend": setup.backend, "plain": plain, "rematerialised": lean,
                     **_compared(Path(folder))}  # fmt: skip
        with open(out, "a") as file:
            file.write(json.dumps(found) + "\n")
        print(json.dumps(found), flush=True)


def _process(setup: Setup, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "one", json.dumps(setup.as_json()), str(folder)],
        env={**os.environ, "KERAS_BACKEND": setup.backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def one(setup: Setup, folder: Path) -> None:
    import numpy as np

    from holdfast.detectors.build import build
    from holdfast.memory.ingredients import batch_of, rule_of, spec_of
    from holdfast.memory.trial import forget_peak, give_back, peak, resident, step_of
    from holdfast.train.network import detector_network

    net = detector_network(build(spec_of(setup), seed=1), changes_colour=True, seed=0)
    step = step_of(setup, net, replace(rule_of(setup), weight_decay=0.0, clip_norm=None))
    batch = batch_of(setup, setup.batch)
    batch["images"] = np.random.default_rng(0).integers(0, 256, batch["images"].shape).astype(np.uint8)
    fetched = step.fetch(step(batch, step=0, rate=1e-3, held=False))  # compiles
    gradient = {
        name: value for name, value in step.export()["optimizer"].items() if name.startswith("first/")
    }
    np.savez(folder / ("lean.npz" if setup.rematerialise else "plain.npz"), **gradient)
    give_back()
    before = resident()
    forget_peak()
    times = []
    for number in range(1, 1 + STEPS):
        began = time.process_time()
        step.fetch(step(batch, step=number, rate=1e-3, held=False))
        times.append(time.process_time() - began)
    print(json.dumps({"loss": fetched["loss"], "step_cpu_s": statistics.median(times),
                      "steps_bytes": peak() - before}), flush=True)  # fmt: skip


def _compared(folder: Path) -> dict[str, float]:
    """The largest difference of any number of the gradient, as a part of the largest of its variable."""
    import numpy as np

    plain, lean = np.load(folder / "plain.npz"), np.load(folder / "lean.npz")
    worst, whole, apart = 0.0, 0.0, 0.0
    for name in plain.files:
        whole += float((plain[name].astype(np.float64) ** 2).sum())
        apart += float(((plain[name].astype(np.float64) - lean[name]) ** 2).sum())
        worst = max(
            worst, float(np.abs(plain[name] - lean[name]).max() / max(np.abs(plain[name]).max(), 1e-12))
        )
    return {
        "worst_difference": worst,
        "difference_of_the_whole": (apart / whole) ** 0.5,
        "variables": len(plain.files),
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(from_json(json.loads(sys.argv[2])), Path(sys.argv[3]))
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("memory_remat.jsonl"))
