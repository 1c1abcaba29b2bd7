"""The host's memory of a TensorFlow step, planned from trials, then run inside a capped control group.

    python benchmarks/memory_host.py [OUT [N]]    # root, with control groups of version 1 or 2; all, or the Nth

For each model: the largest micro-batch that the plan says fits under the cap must run, and 1.3 times as many
images must be killed by the kernel or refused by the allocator. Every run is a fresh process.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

from holdfast.memory.estimate.estimators import CpuTrialEstimator, run_trial
from holdfast.memory.estimate.prediction_cache import PredictionFailed
from holdfast.memory.step_config import StepConfig

GIB = 2**30
CASES = [
    (
        StepConfig("ssd", "mobilenet_v2", 128, 20, 20, 1, 1, normalization="group", backend="tensorflow"),
        2.5 * GIB,
    ),
    (
        StepConfig(
            "retinanet", "mobilenet_v2", 128, 20, 20, 1, 1, normalization="group", backend="tensorflow"
        ),
        2.5 * GIB,
    ),
    (StepConfig("ssd", "resnet50", 128, 20, 20, 1, 1, backend="tensorflow"), 6 * GIB),
    (
        StepConfig(
            "faster-rcnn", "mobilenet_v2", 128, 20, 20, 1, 1, normalization="group", backend="tensorflow"
        ),
        3 * GIB,
    ),
]
MORE = 1.3
RUNS = 2  # of each: the pool does not grow in the same step every time


class Cap:
    """A control group with a limit, for one process."""

    def __init__(self, limit_bytes: int) -> None:
        first = Path("/sys/fs/cgroup/memory")
        top, name = (
            (first, "memory.limit_in_bytes") if first.is_dir() else (Path("/sys/fs/cgroup"), "memory.max")
        )
        self.folder = top / f"holdfast-{os.getpid()}-{limit_bytes}"
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_text(str(limit_bytes))

    @property
    def prefix(self) -> tuple[str, ...]:
        return ("sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh")

    def kills(self) -> int:
        for name in ("memory.oom_control", "memory.events"):
            if (self.folder / name).exists():
                words = (self.folder / name).read_text().split()
                return int(dict(zip(words[::2], words[1::2], strict=False)).get("oom_kill", 0))
        return 0

    def close(self) -> None:
        self.folder.rmdir()


def main(out: Path, only: int | None) -> None:
    for setup, cap_bytes in CASES if only is None else [CASES[only]]:
        found = case(setup, int(cap_bytes))
        with open(out, "a") as file:
            file.write(json.dumps(found) + "\n")
        print(json.dumps(found), flush=True)


def case(setup: StepConfig, cap_bytes: int) -> dict[str, Any]:
    trials = CpuTrialEstimator(cap_bytes)
    planned = max(
        size for size in range(1, 1025) if trials.extrapolated(setup, size).total_bytes <= cap_bytes
    )
    while (account := trials(setup, [planned])[0]).fits(cap_bytes) != "fits":
        planned -= max(1, planned // 20)
    more = math.ceil(planned * MORE)
    tried = {one.micro_batch: peak for one, peak in trials._tried.items()}
    return {
        "setup": setup.label(), "cap_bytes": cap_bytes, "tried": tried, "planned": planned,
        "predicted_bytes": account.total_bytes, "ran": [capped(setup, planned, cap_bytes) for _ in range(RUNS)],
        "more": more, "more_predicted_bytes": trials.extrapolated(setup, more).total_bytes,
        "more_ran": [capped(setup, more, cap_bytes) for _ in range(RUNS)],
    }  # fmt: skip


def capped(setup: StepConfig, micro: int, cap_bytes: int) -> dict[str, Any]:
    cap = Cap(cap_bytes)
    try:
        found = run_trial(setup.with_micro_batch(micro), prefix=cap.prefix)
        return {"ran": True, "peak_bytes": max(found["first_bytes"], found["steps_bytes"])}
    except PredictionFailed as error:
        return {"ran": False, "kernel_kills": cap.kills(), "said": list(error.found)}
    finally:
        cap.close()


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path("memory_host.jsonl"),
        int(sys.argv[2]) if len(sys.argv) > 2 else None,
    )
