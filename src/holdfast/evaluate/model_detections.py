"""What a model saw in a dataset, as the columns that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from holdfast.data.records import Dataset
from holdfast.errors import DataError
from holdfast.evaluate.box_columns import Floats, Ints, Predictions


class ImagePredictions(Protocol):
    """Boxes (k, 4) as corners, in pixels of the image."""

    @property
    def boxes(self) -> Floats: ...
    @property
    def scores(self) -> Floats: ...
    @property
    def classes(self) -> Ints: ...


def check_classes(dataset: Dataset, classes: Sequence[str]) -> None:
    """A class that the model does not have is refused: its boxes would count as missed, and nobody would know why."""
    unknown = sorted({box.name for record in dataset.records for box in record.boxes} - set(classes))
    if unknown:
        raise DataError(
            "the dataset has classes that the model was not trained for",
            where=dataset.path,
            found=f"{', '.join(unknown[:5])}; the model knows {', '.join(classes[:8])}",
            change="evaluate on data with the model's classes, or train with these",
        )


def drop_unknown_classes(dataset: Dataset) -> tuple[Dataset, str]:
    """Without the boxes of classes that are not among the dataset's own, which training leaves out; and a sentence
    about them, where there are any."""
    known = set(dataset.classes)
    others = [box.name for record in dataset.records for box in record.boxes if box.name not in known]
    if not others:
        return dataset, ""
    records = (
        replace(record, boxes=tuple(box for box in record.boxes if box.name in known))
        for record in dataset.records
    )
    names = sorted(set(others))
    some = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    said = (
        f"boxes of classes that the run does not train are left out, as in training: {some} ({len(others)})"
    )
    return replace(dataset, records=tuple(records)), said


def predictions_of(seen: Sequence[ImagePredictions]) -> Predictions:
    """The detections of every image, in the dataset's order."""
    counts = [len(one.scores) for one in seen]
    corners = np.concatenate([one.boxes for one in seen]) if seen else np.zeros((0, 4))
    return Predictions(
        image=np.repeat(np.arange(len(seen), dtype=np.int64), counts),
        category=np.concatenate([one.classes for one in seen]).astype(np.int64)
        if seen
        else np.zeros(0, np.int64),
        boxes=np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1),
        score=np.concatenate([one.scores for one in seen]) if seen else np.zeros(0),
    )
