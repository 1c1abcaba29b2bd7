"""`python -m holdfast.memory.estimate.cpu_trial`: a few real steps on this machine's CPU, and their
memory.

Standard input is a configuration as JSON; standard output the resident memory before the steps, at the peak of the
first, which compiles, and at the peak of the later ones: as many as it takes until the pool in which TensorFlow keeps
freed memory stops growing. On a CPU the framework's allocator decides and threads run in parallel, so memory cannot be
computed ahead of time: small micro-batches are tried and extrapolated (`trial_line`).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

from holdfast.host import procfs

STEADY_STEPS = 4  # in a row, without a new peak: the pool grew by a quarter in the second to fourth step
MOST_STEPS = 12
NEW_PEAK = 1.02  # times the old one


def main() -> int:
    prefer_oom_kill()
    question = json.loads(sys.stdin.read())
    os.environ["KERAS_BACKEND"] = question["setup"]["backend"]
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    from holdfast.memory import step_config

    print("\n" + json.dumps(run_steps(step_config.from_json(question["setup"]))), flush=True)
    return 0


def run_steps(config: Any) -> dict[str, int]:
    from holdfast.detectors.build import build
    from holdfast.memory.estimate.step_inputs import batch_of, optimizer_config_of, spec_of
    from holdfast.step.network import detector_network

    network = detector_network(build(spec_of(config)), changes_colour=config.changes_colour, seed=0)
    step = build_step(config, network, optimizer_config_of(config))
    batch = batch_of(config, config.batch)
    before = resident_bytes()
    reset_peak()
    step.fetch(step(batch, step=0, learning_rate=1e-4, frozen=False))
    first = resident_peak_bytes()
    trim_allocator()
    reset_peak()
    highest, steady, number = 0, 0, 1
    while steady < STEADY_STEPS and number <= MOST_STEPS:
        step.fetch(step(batch, step=number, learning_rate=1e-4, frozen=False))
        steady = 0 if resident_peak_bytes() > NEW_PEAK * highest else steady + 1
        highest, number = max(highest, resident_peak_bytes()), number + 1
    return {"before_bytes": before, "first_bytes": first, "steps_bytes": highest}


def build_step(config: Any, network: Any, optimizer: Any) -> Any:
    if config.backend == "jax":
        from holdfast.step.jax_step import JaxStep

        return JaxStep(network, optimizer, batch=config.batch, micro_batch=config.micro_batch)
    from holdfast.step.tensorflow_step import TensorFlowStep

    return TensorFlowStep(network, optimizer, batch=config.batch, micro_batch=config.micro_batch)


def prefer_oom_kill() -> None:
    """Should the machine's memory end, the kernel ends this process and not somebody's other one."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def resident_bytes() -> int:
    return procfs.own_memory().now_bytes


def resident_peak_bytes() -> int:
    """The peak since `reset_peak`, without file pages: those of libraries are some 400 MiB, do not change, and can be
    dropped by the kernel, so they never exceed a limit."""
    return procfs.own_memory().peak_bytes


def reset_peak() -> None:
    with contextlib.suppress(OSError):  # not allowed in some containers: the peak is then since the start
        Path("/proc/self/clear_refs").write_text("5")


def trim_allocator() -> None:
    """Returns what compiling left in the allocator, so that it does not hide what the steps take."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


if __name__ == "__main__":
    sys.exit(main())
