"""Detections on the validation images, in pixels of the files, scored with the COCO metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.detectors.anchors.letterbox import InputMapping
from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.evaluate.coco_metrics import CocoScore, score
from holdfast.evaluate.evaluation_view import without_ignored
from holdfast.journal.events import Event, ValidationBatchReduced
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.stream import Stream
from holdfast.step import out_of_memory
from holdfast.step.step_protocol import is_out_of_memory

Detect = Callable[[Any], tuple[np.ndarray, ...]]
Gather = Callable[[tuple[np.ndarray, ...]], tuple[np.ndarray, ...]]
Scored = Callable[[GroundTruth, Predictions, CocoScore], None]


class Validation:
    """`batch_done` gets the number of each batch, for the heartbeat; `scored` the result, to be shown, without the
    detections that count neither as right nor as wrong.

    `gather` adds the rows of other processes. Halves its batch after running out of memory, and reports it. Images
    that the stream skips are left out, as in `holdfast eval`: another image was shown in their place.
    """

    def __init__(
        self, stream: Stream, detect: Detect, batch_done: Callable[[int], None], scored: Scored | None = None,
        gather: Gather | None = None, notify: Callable[[Event], None] = lambda event: None,
    ) -> None:  # fmt: skip
        self._stream, self._detect, self._batch_done, self._scored = stream, detect, batch_done, scored
        self._gather, self._notify = gather, notify
        self._at_once = stream.feed.batch

    def __call__(self, stop_requested: Callable[[], bool]) -> dict[str, float] | None:
        """The COCO metrics; None when stopped."""
        parts = []
        for number, batch in enumerate(self._stream.batches(), start=1):
            parts.append(self._detect_batch(batch))
            self._batch_done(number)
            if stop_requested():
                return None
        predictions = Predictions(
            *self._from_all(tuple(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        )
        bad = self._bad_images()  # only now: some are found while they are decoded
        truth, predictions = ground_truth_of(self._stream.columns, without=bad), drop_images(predictions, bad)
        result = score(truth, predictions)
        if self._scored is not None:
            self._scored(truth, without_ignored(truth, predictions), result)
        return dict(result.numbers)

    def _bad_images(self) -> np.ndarray:
        """Which images are skipped, by this process or another, in the order of their rows."""
        bad = np.zeros(len(self._stream.columns), bool)
        bad[list(self._stream.bad)] = True
        if self._gather is None:
            return bad
        (rows,) = self._gather((bad,))
        return np.asarray(rows.reshape(-1, len(bad)).any(axis=0))

    def _from_all(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Sorted by image, so that ties are resolved as in a single process."""
        if self._gather is None:
            return columns
        gathered = self._gather(columns)
        order = np.argsort(gathered[0], kind="stable")
        return tuple(column[order] for column in gathered)

    def _detect_batch(self, batch: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
        images = batch["images"]
        size = self._at_once  # which running out of memory makes smaller, for later batches
        pieces = [self._detect_images(images[first : first + size]) for first in range(0, len(images), size)]
        boxes, scores, classes = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return detection_rows(batch, self._stream.columns.sizes, boxes, scores, classes)

    def _detect_images(self, images: Any) -> tuple[np.ndarray, ...]:
        try:
            return self._detect(images)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            half = len(images) // 2
            if not half:
                raise out_of_memory.out_of_memory_error("validation", error) from error
            parts = [self._detect_images(images[:half]), self._detect_images(images[half:])]
            if half < self._at_once:
                self._at_once = half
                self._notify(ValidationBatchReduced(batch=half, was=len(images)))
            return tuple(np.concatenate(pair) for pair in zip(*parts, strict=True))


def detection_rows(
    batch: Mapping[str, Any], sizes: np.ndarray, boxes: np.ndarray, scores: np.ndarray, classes: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Columns of `Predictions` for one batch, without padding, in pixels of the files, x y w h.

    `sizes` are width and height of all images: a box is clipped to its image, as in `holdfast eval`.
    """
    image = np.asarray(batch["image"])
    parts = []
    for row, number in enumerate(image):
        kept = (classes[row] >= 0) & bool(np.asarray(batch["in_epoch"])[row])
        mapping = InputMapping.of_mapping(np.asarray(batch["mapping"])[row])
        corners = mapping.to_image(boxes[row][kept].astype(float), tuple(sizes[number]))
        sides = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
        parts.append((np.full(int(kept.sum()), number), classes[row][kept], sides, scores[row][kept]))
    numbers, labels, image_boxes, confidences = (np.concatenate(part) for part in zip(*parts, strict=True))
    return numbers.astype(np.int64), labels.astype(np.int64), image_boxes, confidences.astype(float)


def drop_images(predictions: Predictions, without: np.ndarray) -> Predictions:
    """Image numbers are rows of the columns before, and indices among the remaining images after it."""
    remaining = predictions.only(~without[predictions.image])
    return replace(remaining, image=remaining.image - np.cumsum(without)[remaining.image])


def ground_truth_of(columns: Columns, *, without: np.ndarray | None = None) -> GroundTruth:
    """An image's id is its row; `without` (n,) marks those that are left out."""
    left = np.ones(len(columns), bool) if without is None else ~without
    row = np.repeat(np.arange(len(columns)), np.diff(columns.first))
    of = left[row]
    boxes = columns.boxes[of].astype(float)
    return GroundTruth(
        images=tuple(np.flatnonzero(left).tolist()),
        categories=tuple(enumerate(columns.classes)),
        image=(np.cumsum(left) - 1)[row[of]],
        category=columns.labels[of].astype(np.int64),
        boxes=np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1),
        # As in VOC, a difficult box counts neither as found nor as missed.
        crowd=(columns.crowds | columns.difficult)[of],
        area=columns.areas[of],
    )
