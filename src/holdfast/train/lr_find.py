"""`python -m holdfast.train.lr_find RECIPE STEPS`: the process of the LR range test. Trains a copy and saves nothing.

Prints a line of progress for each step, and at the end the learning rates and losses as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.train import range_test, relief


def main(recipe_path: str, steps: int) -> int:
    from holdfast.settings import read

    recipe = read(Path(recipe_path))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ["KERAS_BACKEND"] = recipe.train.backend
    rates: list[float] = []
    losses: list[float] = []
    for number, loss in _losses(recipe, steps):
        rates.append(range_test.rate_at(number, steps))
        losses.append(loss)
        print(f"step {number + 1}/{steps}  learning rate {rates[-1]:.2e}  loss {loss:.4g}", flush=True)
        if range_test.is_over(losses):
            break
    print(json.dumps({"rates": rates, "losses": losses}), flush=True)
    return 0


def _losses(recipe: Any, steps: int) -> Iterator[tuple[int, float]]:
    from holdfast.train import assemble
    from holdfast.train.__main__ import part_cpu
    from holdfast.train.step import is_out_of_memory

    part_cpu(recipe)
    if recipe.train.backend == "jax":
        assemble.leave_gpus_to_jax()
    data = assemble.data(recipe)
    model, _ = assemble.detector(recipe, data.train.columns)
    step = assemble.step(assemble.network(model, recipe), recipe, None)
    batches = data.train.numpy_batches() if recipe.train.backend == "jax" else data.train.batches()
    for number, batch in zip(range(steps), batches, strict=False):
        rate = range_test.rate_at(number, steps)
        while True:
            result = None
            try:
                result = step(batch, step=number, rate=rate, held=False)
                yield number, step.fetch(result)["loss"]
                break
            except Exception as error:
                after = relief.smaller(step.micro_batch, recipe.train.batch)
                if not is_out_of_memory(error) or after is None:
                    raise
                if result is not None:
                    step.undo(result)
                step = step.split(after)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], int(sys.argv[2])))
    except HoldfastError as error:  # as data: the command that asked prints it
        print(json.dumps({"error": error.as_json()}), flush=True)
        sys.exit(error.exit_code)
