"""Whether a recipe's training would wait for its data: what `holdfast check RECIPE` asks, in a process of its own.

The pipeline brings TensorFlow, which must not open a GPU here nor outlive the question.

    python -m holdfast.cli.check_speed RECIPE STEP_IMAGES_PER_S|- GPU|-     prints the findings as JSON
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.data.findings import Finding

LIMIT_S = 300
SECONDS = 3.0  # of measuring, once the first batch is there


def asked(recipe_path: str, step_images_per_s: float | None) -> tuple[Finding, ...]:
    """The findings about the speed of the data; none where it cannot be measured here."""
    from holdfast.data.findings import Finding, Place
    from holdfast.memory import machine

    hidden = {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "holdfast.cli.check_speed", recipe_path]
    command += [str(step_images_per_s or "-"), "GPU" if machine.here() else "-"]
    try:
        done = subprocess.run(
            command, env={**os.environ, **hidden}, capture_output=True, timeout=LIMIT_S, check=False
        )
        rows: list[dict[str, Any]] = json.loads(done.stdout) if done.returncode == 0 else []
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ()
    return tuple(
        Finding(
            row["finding"], row["severity"], row["count"],
            tuple(Place(place["file"], place["detail"]) for place in row["places"]), row["remedy"],
            tuple((key, row[key]) for key in ("images_per_s", "step_images_per_s") if key in row),
        )
        for row in rows
    )  # fmt: skip


def _main(recipe_path: str, step_images_per_s: float | None, on_gpu: bool) -> None:
    from holdfast.cli.train import _recipe
    from holdfast.pipeline import columns, speed
    from holdfast.train import prepare

    recipe = _recipe(recipe_path, [])
    data = columns.of_dataset(prepare.sets(recipe).train)
    feed = prepare.sent(recipe, data, prepare.feed(recipe), on_gpu=on_gpu)
    found = speed.check(
        data, feed, packed=prepare.packed(data, feed), where=recipe_path,
        step_images_per_s=step_images_per_s, seconds=SECONDS,
    )  # fmt: skip
    print(json.dumps([finding.as_json() for finding in found]))


if __name__ == "__main__":
    _main(sys.argv[1], None if sys.argv[2] == "-" else float(sys.argv[2]), sys.argv[3] == "GPU")
