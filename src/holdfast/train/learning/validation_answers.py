"""What a detector answers for its validation images: does it find places, classes, and does it look at the image?"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.evaluate.box_columns import Floats, GroundTruth, Ints, Predictions, by_image, overlaps
from holdfast.journal import events as ev

_MOST_IMAGES = 100  # spread over all: about a millisecond each
_HALF, _SAME = 0.5, 0.9  # overlap of a detection with an object, and of two that are one answer
_FEWEST_ANSWERS = 3  # of an image, to compare it with the next one


class _Answers(NamedTuple):
    """The best detections of an image, none on another: as many as there are objects, and three at least."""

    boxes: Floats
    classes: Ints


def validation_answers(
    truth: GroundTruth, found: Predictions, *, step: int
) -> ev.ValidationAnswersSeen | None:
    """None where there is nothing to find."""
    rows = list(by_image(truth, found))
    rows = rows[:: -(-len(rows) // _MOST_IMAGES) if rows else 1]
    objects = located = right = 0
    answers: list[_Answers] = []
    wanted: list[NDArray[np.int64]] = []
    for _, there, seen in rows:
        there = there[~truth.crowd[there]]
        best = _best(found, seen, max(len(there), _FEWEST_ANSWERS))
        answers.append(best)
        counted = best.boxes[: len(there)]
        objects += len(there)
        wanted.append(truth.category[there])
        if len(there) and len(counted):
            overlap = overlaps(counted, truth.boxes[there], np.zeros(len(there), bool))
            hit = overlap.max(axis=0) >= _HALF
            located += int(hit.sum())
            right += int((best.classes[overlap.argmax(axis=0)][hit] == truth.category[there][hit]).sum())
    if not objects:
        return None
    classes = np.bincount(np.concatenate(wanted))
    return ev.ValidationAnswersSeen(
        step=step, images=len(rows), objects=objects, located=located / objects,
        right=right / located if located else None, by_chance=float(classes.max() / objects),
        classes=int((classes > 0).sum()), alike=_alike(answers), highest=float(found.score.max(initial=0.0)),
    )  # fmt: skip


def _best(found: Predictions, seen: Ints, most: int) -> _Answers:
    """`seen` are its rows, the best score first. Of detections of several classes on one place the best is kept."""
    kept: list[int] = []
    for row in seen:
        if len(kept) == most:
            break
        nobody = np.zeros(len(kept), bool)
        if not kept or overlaps(found.boxes[[row]], found.boxes[kept], nobody).max() < _HALF:
            kept.append(int(row))
    return _Answers(found.boxes[kept], found.category[kept])


def _alike(answers: list[_Answers]) -> float | None:
    """The share of the best answers for an image that the next image has too: at the same place, of the same class."""
    shares = []
    for one, other in pairwise(answers):
        if min(len(one.boxes), len(other.boxes)) >= _FEWEST_ANSWERS:
            first = one.boxes[:_FEWEST_ANSWERS]
            same = overlaps(first, other.boxes, np.zeros(len(other.boxes), bool)) >= _SAME
            same &= one.classes[:_FEWEST_ANSWERS, None] == other.classes[None]
            shares.append(float(same.any(axis=1).mean()))
    return round(float(np.mean(shares)), 4) if shares else None
