"""`python -m holdfast.memory.estimate.cpu_trial`: a few real steps of a setup on this machine's processor, and
what they took.

Standard input is a setup as JSON; standard output the resident memory before the steps, at the peak of the first, which
compiles, and at the peak of those after it: so many that the pool in which TensorFlow keeps what a step gave back has
stopped growing. On a processor the framework's own allocator decides, threads run side by side, and nothing can be
asked ahead of time: so small micro-batches are tried, and a line is drawn through them.
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

STEADY_STEPS = (
    4  # in a row, without a new peak: the pool was seen to grow by a quarter in the second to fourth step
)
MOST_STEPS = 12
NEW_PEAK = 1.02  # times the old


def main() -> int:
    prefer_oom_kill()
    asked = json.loads(sys.stdin.read())
    os.environ["KERAS_BACKEND"] = asked["setup"]["backend"]
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    from holdfast.memory import step_config

    print("\n" + json.dumps(run_steps(step_config.from_json(asked["setup"]))), flush=True)
    return 0


def run_steps(wanted: Any) -> dict[str, int]:
    from holdfast.detectors.build import build
    from holdfast.memory.estimate.step_inputs import batch_of, optimizer_config_of, spec_of
    from holdfast.step.network import detector_network

    net = detector_network(build(spec_of(wanted)), changes_colour=wanted.changes_colour, seed=0)
    step = step_of(wanted, net, optimizer_config_of(wanted))
    batch = batch_of(wanted, wanted.batch)
    before = resident_bytes()
    reset_peak()
    step.fetch(step(batch, step=0, rate=1e-4, held=False))
    first = resident_peak_bytes()
    trim_allocator()
    reset_peak()
    highest, steady, number = 0, 0, 1
    while steady < STEADY_STEPS and number <= MOST_STEPS:
        step.fetch(step(batch, step=number, rate=1e-4, held=False))
        steady = 0 if resident_peak_bytes() > NEW_PEAK * highest else steady + 1
        highest, number = max(highest, resident_peak_bytes()), number + 1
    return {"before_bytes": before, "first_bytes": first, "steps_bytes": highest}


def step_of(wanted: Any, net: Any, rule: Any) -> Any:
    if wanted.backend == "jax":
        from holdfast.step.jax_step import JaxStep

        return JaxStep(net, rule, batch=wanted.batch, micro_batch=wanted.micro_batch)
    from holdfast.step.tensorflow_step import TensorFlowStep

    return TensorFlowStep(net, rule, batch=wanted.batch, micro_batch=wanted.micro_batch)


def prefer_oom_kill() -> None:
    """Should the machine's memory end, the kernel ends this process and not somebody's other one."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def resident_bytes() -> int:
    return procfs.own_memory().now_bytes


def resident_peak_bytes() -> int:
    """The most that was resident at once since `forget_peak`, without the pages of files: those of the libraries are
    some 400 MiB, do not change, and can be dropped, so that no limit is met for their sake."""
    return procfs.own_memory().peak_bytes


def reset_peak() -> None:
    with contextlib.suppress(
        OSError
    ):  # not allowed in some containers: the peak is then that of the whole process
        Path("/proc/self/clear_refs").write_text("5")


def trim_allocator() -> None:
    """What compiling left in the allocator's hands goes back, so that it does not hide what the steps take."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


if __name__ == "__main__":
    sys.exit(main())
