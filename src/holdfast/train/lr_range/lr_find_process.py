"""`python -m holdfast.train.lr_range.lr_find_process RECIPE STEPS`: the process of the LR range test. Trains and
saves nothing.

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
from holdfast.step import out_of_memory
from holdfast.train.lr_range import range_test


def main(recipe_path: str, steps: int) -> int:
    from holdfast.settings import read

    recipe = read(Path(recipe_path))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ["KERAS_BACKEND"] = recipe.train.backend
    learning_rates: list[float] = []
    losses: list[float] = []
    for number, loss in _losses(recipe, steps):
        learning_rates.append(range_test.learning_rate_at(number, steps))
        losses.append(loss)
        print(
            f"step {number + 1}/{steps}  learning rate {learning_rates[-1]:.2e}  loss {loss:.4g}", flush=True
        )
        if range_test.has_diverged(losses):
            break
    print(json.dumps({"rates": learning_rates, "losses": losses}), flush=True)
    return 0


def _losses(recipe: Any, steps: int) -> Iterator[tuple[int, float]]:
    from holdfast.step.step_protocol import is_out_of_memory
    from holdfast.train import components
    from holdfast.train.__main__ import split_cpu_for_recipe

    split_cpu_for_recipe(recipe)
    data = components.build_data(recipe)
    model, _ = components.build_detector(recipe, data.train.columns)
    step = components.build_step(components.build_network(model, recipe), recipe, None)
    for number, batch in zip(range(steps), data.train.batches(), strict=False):
        learning_rate = range_test.learning_rate_at(number, steps)
        while True:
            result = None
            try:
                result = step(batch, step=number, learning_rate=learning_rate, frozen=False)
                yield number, step.fetch(result)["loss"]
                break
            except Exception as error:
                after = out_of_memory.smaller_micro_batch(step.micro_batch, recipe.train.batch)
                if not is_out_of_memory(error) or after is None:
                    raise
                if result is not None:
                    step.undo(result)
                step = step.split(after)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], int(sys.argv[2])))
    except HoldfastError as error:  # as JSON: the command that started this process prints it
        print(json.dumps({"error": error.as_json()}), flush=True)
        sys.exit(error.exit_code)
