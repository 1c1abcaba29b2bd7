"""Whether a recipe's training would wait for its data: measured for `holdfast check RECIPE` in a process of its own.

The pipeline loads TensorFlow, which must not open a GPU here nor stay in memory afterwards.

    python -m holdfast.cli.data_speed RECIPE STEP_IMAGES_PER_S|- GPU|-     prints the findings as JSON
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from holdfast.subprocess_json import HIDDEN_GPUS, ask

if TYPE_CHECKING:
    from holdfast.data.findings import DataFinding

TIMEOUT_S = 300.0
MEASURE_S = 3.0  # after the first batch


def measure_data_speed(recipe_path: str, step_images_per_s: float | None) -> tuple[DataFinding, ...]:
    """The findings about the speed of the data; none where it cannot be measured here."""
    from holdfast.data.findings import DataFinding, FindingPlace
    from holdfast.host.nvml import local_gpu

    arguments = (recipe_path, str(step_images_per_s or "-"), "GPU" if local_gpu() else "-")
    reply = ask("holdfast.cli.data_speed", *arguments, environment=HIDDEN_GPUS, timeout_s=TIMEOUT_S)
    rows = reply.answer if reply.exit_code == 0 and reply.answer else []
    return tuple(
        DataFinding(
            row["finding"], row["severity"], row["count"],
            tuple(FindingPlace(place["file"], place["detail"]) for place in row["places"]), row["remedy"],
            tuple((key, row[key]) for key in ("images_per_s", "step_images_per_s") if key in row),
        )
        for row in rows
    )  # fmt: skip


def _main(recipe_path: str, step_images_per_s: float | None, on_gpu: bool) -> None:
    from holdfast.cli.recipes import resolve_recipe
    from holdfast.pipeline import dataset_columns, speed
    from holdfast.train import dataset_setup

    recipe = resolve_recipe(recipe_path)
    data = dataset_columns.columns_of(dataset_setup.load_splits(recipe).train)
    feed = dataset_setup.with_sent_pixels(recipe, data, dataset_setup.build_feed(recipe), on_gpu=on_gpu)
    found = speed.check(
        data, feed, packed=dataset_setup.find_pack(data, feed), where=recipe_path,
        step_images_per_s=step_images_per_s, seconds=MEASURE_S,
    )  # fmt: skip
    print(json.dumps([finding.as_json() for finding in found]))


if __name__ == "__main__":
    _main(sys.argv[1], None if sys.argv[2] == "-" else float(sys.argv[2]), sys.argv[3] == "GPU")
