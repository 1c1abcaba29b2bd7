"""A dataset and what a model saw in it, as the columns that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from holdfast.data.records import Box, Dataset
from holdfast.errors import DataError
from holdfast.evaluate.columns import Floats, Found, Ints, Truth


class SeenInPicture(Protocol):
    """Boxes (k, 4) as corners, in pixels of the picture."""

    @property
    def boxes(self) -> Floats: ...
    @property
    def scores(self) -> Floats: ...
    @property
    def classes(self) -> Ints: ...


def truth_of(dataset: Dataset, classes: Sequence[str]) -> Truth:
    """The dataset's boxes under the model's numbering of the classes. A class that the model does not have is
    refused: its boxes would count as missed, and nobody would know why."""
    unknown = sorted({box.name for record in dataset.records for box in record.boxes} - set(classes))
    if unknown:
        raise DataError(
            "the dataset has classes that the model was not trained for",
            where=dataset.path,
            found=f"{', '.join(unknown[:5])}; the model knows {', '.join(classes[:8])}",
            change="evaluate on data with the model's classes, or train with these",
        )
    place = {name: index for index, name in enumerate(classes)}
    rows = [(row, box) for row, record in enumerate(dataset.records) for box in record.boxes if _usable(box)]
    boxes: Floats = np.array([(b.x1, b.y1, b.width, b.height) for _, b in rows], dtype=float).reshape(-1, 4)
    return Truth(
        images=tuple(record.id for record in dataset.records),
        categories=tuple(enumerate(classes)),
        image=np.array([row for row, _ in rows], dtype=np.int64),
        category=np.array([place[box.name] for _, box in rows], dtype=np.int64),
        boxes=boxes,
        # VOC's rule: a difficult box counts neither as found nor as missed.
        crowd=np.array([box.crowd or box.difficult for _, box in rows], dtype=bool),
        area=np.array(
            [box.width * box.height if box.area is None else box.area for _, box in rows], dtype=float
        ),
    )


def found_in(seen: Sequence[SeenInPicture]) -> Found:
    """The detections of every picture, in the dataset's order."""
    counts = [len(one.scores) for one in seen]
    corners = np.concatenate([one.boxes for one in seen]) if seen else np.zeros((0, 4))
    return Found(
        image=np.repeat(np.arange(len(seen), dtype=np.int64), counts),
        category=np.concatenate([one.classes for one in seen]).astype(np.int64)
        if seen
        else np.zeros(0, np.int64),
        boxes=np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1),
        score=np.concatenate([one.scores for one in seen]) if seen else np.zeros(0),
    )


def _usable(box: Box) -> bool:
    return bool(np.isfinite(box.corners).all()) and box.width > 0 and box.height > 0
