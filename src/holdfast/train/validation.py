"""Detections on the held-out pictures, in the pixels of their files, scored as COCO does."""

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
Gathered = Callable[[tuple[np.ndarray, ...]], tuple[np.ndarray, ...]]
Scored = Callable[[GroundTruth, Predictions, CocoScore], None]


class Validation:
    """`batch_done` is told the number of each batch, for the heartbeat; `scored` what came of it, to be shown, without
    the finds that count neither as right nor as wrong.

    `gathered` adds the rows that other processes found. Halves its batch when memory is short, and says so. Pictures
    that the stream skips are left out, as in `holdfast eval`: what was found there was found in another picture.
    """

    def __init__(
        self, stream: Stream, detect: Detect, batch_done: Callable[[int], None], scored: Scored | None = None,
        gathered: Gathered | None = None, say: Callable[[Event], None] = lambda event: None,
    ) -> None:  # fmt: skip
        self._stream, self._detect, self._batch_done, self._scored = stream, detect, batch_done, scored
        self._gathered, self._say = gathered, say
        self._at_once = stream.feed.batch

    def __call__(self, stop_asked: Callable[[], bool]) -> dict[str, float] | None:
        """COCO's numbers, or None when asked to stop meanwhile."""
        parts = []
        for number, batch in enumerate(self._stream.batches(), start=1):
            parts.append(self._found(batch))
            self._batch_done(number)
            if stop_asked():
                return None
        found = Predictions(
            *self._of_all(tuple(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        )
        bad = self._bad()  # only now: some are met while they are decoded
        truth, found = ground_truth_of(self._stream.columns, without=bad), drop_images(found, bad)
        result = score(truth, found)
        if self._scored is not None:
            self._scored(truth, without_ignored(truth, found), result)
        return dict(result.numbers)

    def _bad(self) -> np.ndarray:
        """Which pictures are skipped by this process or by another, in the order of their rows."""
        bad = np.zeros(len(self._stream.columns), bool)
        bad[list(self._stream.bad)] = True
        if self._gathered is None:
            return bad
        (of_all,) = self._gathered((bad,))
        return np.asarray(of_all.reshape(-1, len(bad)).any(axis=0))

    def _of_all(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """By picture, so that ties are resolved as by one process alone."""
        if self._gathered is None:
            return columns
        whole = self._gathered(columns)
        order = np.argsort(whole[0], kind="stable")
        return tuple(column[order] for column in whole)

    def _found(self, batch: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
        images = batch["images"]
        size = self._at_once  # which a refused piece makes smaller, for the batches after this one
        pieces = [self._detected(images[first : first + size]) for first in range(0, len(images), size)]
        boxes, scores, classes = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return detection_rows(batch, self._stream.columns.sizes, boxes, scores, classes)

    def _detected(self, images: Any) -> tuple[np.ndarray, ...]:
        try:
            return self._detect(images)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            half = len(images) // 2
            if not half:
                raise out_of_memory.out_of_memory_error("validation", error) from error
            parts = [self._detected(images[:half]), self._detected(images[half:])]
            if half < self._at_once:
                self._at_once = half
                self._say(ValidationBatchReduced(batch=half, was=len(images)))
            return tuple(np.concatenate(pair) for pair in zip(*parts, strict=True))


def detection_rows(
    batch: Mapping[str, Any], sizes: np.ndarray, boxes: np.ndarray, scores: np.ndarray, classes: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Columns of `Found` for one batch: only real pictures and real detections, in source pixels, x y w h.

    `sizes` are all pictures' width and height: a box ends where its picture does, as in `holdfast eval`.
    """
    image = np.asarray(batch["image"])
    parts = []
    for row, number in enumerate(image):
        kept = (classes[row] >= 0) & bool(np.asarray(batch["in_epoch"])[row])
        placed = InputMapping.of_mapping(np.asarray(batch["mapping"])[row])
        corners = placed.to_picture(boxes[row][kept].astype(float), tuple(sizes[number]))
        sides = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
        parts.append((np.full(int(kept.sum()), number), classes[row][kept], sides, scores[row][kept]))
    numbers, labels, placed_boxes, certain = (np.concatenate(part) for part in zip(*parts, strict=True))
    return numbers.astype(np.int64), labels.astype(np.int64), placed_boxes, certain.astype(float)


def drop_images(found: Predictions, without: np.ndarray) -> Predictions:
    """Pictures are rows of the columns before, and places among those that are left after it."""
    left = found.only(~without[found.image])
    return replace(left, image=left.image - np.cumsum(without)[left.image])


def ground_truth_of(columns: Columns, *, without: np.ndarray | None = None) -> GroundTruth:
    """An image's id is its row; `without` (n,) says which are left out."""
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
        # VOC's rule: a difficult box counts neither as found nor as missed.
        crowd=(columns.crowds | columns.difficult)[of],
        area=columns.areas[of],
    )
