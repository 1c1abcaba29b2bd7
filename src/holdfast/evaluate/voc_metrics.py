"""Pascal VOC's average precision at one overlap."""

from __future__ import annotations

import numpy as np

from holdfast.evaluate.box_columns import Bools, Floats, GroundTruth, Predictions, by_image, overlaps


def mean_average_precision(
    truth: GroundTruth, found: Predictions, *, iou: float = 0.5
) -> tuple[float, tuple[float, ...]]:
    """VOC's mAP and the AP of each class (area under the curve, as since 2010); -1 for a class without boxes."""
    aps = tuple(
        average_precision(truth, found, category, iou=iou) for category in range(len(truth.categories))
    )
    known = [ap for ap in aps if ap >= 0]
    return (float(np.mean(known)) if known else -1.0), aps


def average_precision(
    truth: GroundTruth, found: Predictions, category: int, *, iou: float = 0.5, eleven_points: bool = False
) -> float:
    """AP of one class. A found box that overlaps only a crowd region (VOC: difficult) is not counted."""
    boxes = int(((truth.category == category) & ~truth.crowd).sum())
    if not boxes:
        return -1.0
    right, counted, score = _match_class(truth, found.only(found.category == category), category, iou)
    order = np.argsort(-score[counted], kind="stable")
    hits = right[counted][order]
    recall = np.cumsum(hits) / boxes
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return _eleven_points(recall, precision) if eleven_points else _area(recall, precision)


def _match_class(
    truth: GroundTruth, found: Predictions, category: int, iou: float
) -> tuple[Bools, Bools, Floats]:
    """Each found box: whether it is right, whether it counts. A box may be found once; a second time is wrong."""
    right = np.zeros(len(found), dtype=bool)
    counted = np.ones(len(found), dtype=bool)
    for _, there, seen in by_image(truth, found):
        there = there[truth.category[there] == category]
        if not len(there) or not len(seen):
            continue
        table = overlaps(found.boxes[seen], truth.boxes[there], np.zeros(len(there), dtype=bool))
        taken: set[int] = set()
        for row, best, overlap in zip(seen, table.argmax(axis=1), table.max(axis=1), strict=True):
            if overlap < iou:
                continue
            if truth.crowd[there[best]]:
                counted[row] = False
            elif int(best) not in taken:
                taken.add(int(best))
                right[row] = True
    return right, counted, found.score


def _area(recall: Floats, precision: Floats) -> float:
    """The exact area under precision made non-increasing, at every change of recall."""
    recall = np.concatenate([[0.0], recall, [1.0]])
    precision = np.concatenate([[0.0], precision, [0.0]])
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    steps = np.flatnonzero(recall[1:] != recall[:-1])
    return float(np.sum((recall[steps + 1] - recall[steps]) * envelope[steps + 1]))


def _eleven_points(recall: Floats, precision: Floats) -> float:
    """The mean of the best precision at recall 0, 0.1 … 1 or above (VOC 2007)."""
    best = [precision[recall >= point].max(initial=0.0) for point in np.linspace(0, 1, 11)]
    return float(np.mean(best))
