"""`python -m holdfast.train.lr_find RUN_DIR`: the range test's process. Trains a copy and keeps nothing of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.journal.folder import RunFolder
from holdfast.train import range_test
from holdfast.train.__main__ import _say


def main(run_dir: str, steps: int) -> int:
    from holdfast.settings import read

    folder = RunFolder(Path(run_dir))
    recipe = read(folder.recipe)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ["KERAS_BACKEND"] = recipe.train.backend
    from holdfast.train import assemble

    data = assemble.data(recipe)
    model, _ = assemble.detector(recipe, data.train.columns.classes)
    step = assemble.step(assemble.network(model, recipe), recipe, None)
    rates, losses = [], []
    batches = data.train.numpy_batches() if recipe.train.backend == "jax" else data.train.batches()
    for number, batch in zip(range(steps), batches, strict=False):
        rate = range_test.rate_at(number, steps)
        losses.append(step.fetch(step(batch, step=number, rate=rate, held=False))["loss"])
        rates.append(rate)
        print(
            f"step {number + 1}/{steps}  rate {rate:.2e}  loss {losses[-1]:.4g}", file=sys.stderr, flush=True
        )
        if range_test.is_over(losses):
            break
    (folder.path / "lr_find.json").write_text(json.dumps({"rates": rates, "losses": losses}))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], int(sys.argv[2])))
    except HoldfastError as error:
        sys.exit(_say(error))
