"""Files for the report page: dataset.json at the start; validation.json after every validation, and the same for
TensorBoard.

Nothing reads them to train, and one that cannot be written never stops the run.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from holdfast import atomic_write
from holdfast.data.images.thumbnails import thumbnail
from holdfast.data.records import ImageRef
from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.evaluate.coco_metrics import CocoScore
from holdfast.evaluate.evaluation_view import PageImage, report_data
from holdfast.journal.folder import RunFolder
from holdfast.pipeline.dataset_columns import Columns
from holdfast.train.observers.tensorboard_images import TensorBoardImages

GRID = 24
MOST_VALUES = 2000  # of one kind in dataset.json, evenly chosen
MOST_CLASSES = 60


class ValidationImages:
    def __init__(
        self, folder: RunFolder, train: Columns, validation: Columns, step: Callable[[], int]
    ) -> None:
        self._folder, self._validation, self._step = folder, validation, step
        self._events = TensorBoardImages(folder.path / "tensorboard" / "eval", _recipe(folder.recipe))
        self._write(
            folder.dataset,
            lambda: {"train": dataset_statistics(train), "validation": dataset_statistics(validation)},
        )

    def validated(self, truth: GroundTruth, predictions: Predictions, score: CocoScore) -> None:
        load_image = functools.partial(page_image, self._validation)
        step = self._step()

        def build() -> dict[str, Any]:
            shown = report_data(truth, predictions, score, load_image)
            self._events.write(step, truth, predictions, shown)
            return {"step": step, **shown}

        self._write(self._folder.validation, build)

    def _write(self, path: Path, build: Callable[[], dict[str, Any]]) -> None:
        try:
            atomic_write.write_text(path, json.dumps(build()), sync=False, private=True)
        except Exception as error:  # of users' files, whose problems were reported before
            print(f"holdfast: {path.name} cannot be written: {error}; training continues", flush=True)


def _recipe(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def dataset_statistics(columns: Columns) -> dict[str, Any]:
    """The numbers behind the charts of a dataset."""
    boxes = columns.boxes.astype(float)
    sides = boxes[:, 2:] - boxes[:, :2]
    counts = np.bincount(columns.labels, minlength=len(columns.classes))
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    per_image = np.bincount(np.diff(columns.first)) if len(columns) else np.zeros(0, int)
    sizes = np.unique(columns.sizes, axis=0)
    return {
        "pictures": len(columns),
        "boxes": len(boxes),
        "left_out": len(columns.left_out),
        "classes": [[columns.classes[at], int(counts[at])] for at in order],
        "class_count": len(columns.classes),
        "boxes_per_picture": [[number, int(times)] for number, times in enumerate(per_image) if times],
        "sides_px": _subsample(np.sqrt(sides.prod(axis=1))),
        "ratios": _subsample(sides[:, 0] / np.maximum(sides[:, 1], 1e-6)),
        "picture_sizes": sizes[_even_indices(len(sizes), 500)].tolist(),
        "centres": _centres(columns, boxes),
    }


def page_image(columns: Columns, row: int) -> PageImage:
    """One image of a dataset, for a page; an unreadable one has a name and a size only."""
    at, name = int(columns.offsets[row]), columns.ids[row]
    width, height = (int(side) for side in columns.sizes[row])
    image = ImageRef(columns.paths[row], *((at, int(columns.lengths[row])) if at >= 0 else ()))
    try:
        jpeg = thumbnail(image.read())[1]
    except Exception:
        jpeg = b""
    return PageImage(name if at >= 0 else Path(columns.paths[row]).name, width, height, jpeg)


def _centres(columns: Columns, boxes: np.ndarray) -> list[list[int]]:
    sizes = np.repeat(columns.sizes, np.diff(columns.first), axis=0).astype(float)
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2 / np.maximum(sizes, 1)
    counts, _, _ = np.histogram2d(middle[:, 1], middle[:, 0], bins=GRID, range=((0, 1), (0, 1)))
    return [[int(count) for count in row] for row in counts]


def _subsample(values: np.ndarray) -> list[float]:
    return [float(f"{value:.4g}") for value in values[_even_indices(len(values), MOST_VALUES)]]


def _even_indices(count: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int)) if count else np.zeros(0, int)
