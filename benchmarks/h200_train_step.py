"""The bare step of a run's recipe, for benchmarks/h200_train.py: the same detector, batch and images, lying on the GPU.

Three batches of the run's own stream are placed on the device, then trained on in turn, one step in flight as the
loop has it. Nothing is read, saved or reported.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

STEPS, ROUNDS = 25, 3


def main(run: Path) -> dict[str, float]:
    from holdfast.journal.folder import RunFolder
    from holdfast.settings.read import read
    from holdfast.train import components

    recipe = read(RunFolder(run).recipe)
    data = components.build_data(recipe)
    detector, _ = components.build_detector(recipe, data.train.columns)
    step = components.build_step(components.build_network(detector, recipe), recipe, None)
    batches = [batch for _, batch in zip(range(3), data.train.batches(0, place=step.place), strict=False)]
    data.train.close()

    def some(count: int) -> None:
        before = None
        for index in range(count):
            result = step(batches[index % 3], step=index, learning_rate=1e-6, frozen=False)
            if before is not None:
                step.fetch(before)
            before = result
        step.fetch(before)

    some(5)
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        some(STEPS)
        times.append((time.perf_counter() - began) / STEPS)
    return {"step_ms": 1e3 * sorted(times)[1], "images_per_s": recipe.train.batch / sorted(times)[1]}


if __name__ == "__main__":
    print(json.dumps({"result": main(Path(sys.argv[1]))}), flush=True)
