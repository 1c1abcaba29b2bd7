"""An evaluation to look at: the curves, what is taken for what, and the images that went worst, as JSON.

`Images` is asked by what the truth calls an image, and hands over its name, its size and a small JPEG; everything
else is arithmetic.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.evaluate.coco_metrics import ClassScore, CocoScore
from holdfast.evaluate.mistakes import MatchedImage, Mistakes, count, matched_images

MAX_IMAGES = 24
MOST_CLASSES = 40  # with a curve of their own
MOST_CONFUSED = 24  # rows of the confusion matrix
MOST_BOXES = 100  # drawn in one image
SCORE_ABOVE = 0.25


@dataclass(frozen=True, slots=True)
class PageImage:
    """An image as it is shown: `jpeg` is empty where it cannot be decoded."""

    name: str
    width: int
    height: int
    jpeg: bytes


LoadImage = Callable[[Any], PageImage]


def worst_images(
    truth: GroundTruth, found: Predictions, *, most: int = MAX_IMAGES, iou: float = 0.5
) -> list[MatchedImage]:
    """The images with the most boxes missed and the most wrong finds; of equals, the less sure ones first."""

    def badness(one: MatchedImage) -> tuple[int, float, int]:
        sure = float(found.score[one.seen][one.partner >= 0].sum())
        return -(one.missed + one.wrong), sure, one.image

    return sorted(matched_images(truth, found, iou), key=badness)[:most]


def without_ignored(truth: GroundTruth, found: Predictions, *, iou: float = 0.5) -> Predictions:
    """Without the finds that are neither right nor wrong."""
    counts = np.zeros(len(found), dtype=bool)
    for one in matched_images(truth, found, iou):
        counts[one.seen] = True
    return found.only(counts)


def true_positives(truth: GroundTruth, found: Predictions, *, iou: float = 0.5) -> NDArray[np.bool_]:
    """Which of the finds that count are right; where some do not, `counted` comes first."""
    right = np.zeros(len(found), dtype=bool)
    for one in matched_images(truth, found, iou):
        right[one.seen] = one.partner >= 0
    return right


def report_data(
    truth: GroundTruth, found: Predictions, score: CocoScore, images: LoadImage, *, most: int = MAX_IMAGES
) -> dict[str, Any]:
    """What a report needs of an evaluation. The images are drawn one at a time."""
    sure, faint = found.only(found.score >= SCORE_ABOVE), found.only(found.score < SCORE_ABOVE)
    return {
        "numbers": score.numbers,
        "images": len(truth.images),
        "boxes": int((~truth.crowd).sum()),
        "score_above": SCORE_ABOVE,
        "classes": [_class(one) for one in _weakest_classes(score)],
        "class_count": len(score.classes),
        **_mistakes(count(truth, found, score_above=SCORE_ABOVE), truth.names),
        "pictures": [
            {**_image_json(one, truth, sure, images), "faint": _low_score_boxes(one, truth, faint)}
            for one in worst_images(truth, sure, most=most)
        ],
    }


def _weakest_classes(score: CocoScore) -> list[ClassScore]:
    seen = [one for one in score.classes if one.boxes]
    return sorted(seen, key=lambda one: one.numbers["AP"])[:MOST_CLASSES]


def _class(one: ClassScore) -> dict[str, Any]:
    curves = {str(curve.iou): [round(value, 3) for value in curve.precision] for curve in one.curves}
    numbers = {name: round(one.numbers[name], 4) for name in ("AP", "AP50", "AP75", "AR100")}
    return {"name": one.name, "boxes": one.boxes, **numbers, "precision_at_recall": curves}


def _mistakes(mistakes: Mistakes, names: tuple[str, ...]) -> dict[str, Any]:
    shown = most_confused(mistakes.confusion)
    everything = [*names, "background"]
    return {
        "mistakes": {"right": mistakes.right, **mistakes.kinds},
        "confusion": {
            "classes": [everything[row] for row in shown],
            "true_by_found": mistakes.confusion[np.ix_(shown, shown)].tolist(),
            "left_out": len(everything) - len(shown),
        },
    }


def most_confused(confusion: NDArray[np.int64], most: int = MOST_CONFUSED) -> list[int]:
    """All rows, or those with the most off the diagonal; background stays last."""
    background = len(confusion) - 1
    if background < most:
        return list(range(background + 1))
    off = confusion.copy()
    np.fill_diagonal(off, 0)
    blamed = off[:background].sum(axis=1) + off[:, :background].sum(axis=0)
    kept = np.argsort(-blamed, kind="stable")[: most - 1]
    return [*sorted(int(row) for row in kept), background]


def _image_json(
    one: MatchedImage, truth: GroundTruth, found: Predictions, images: LoadImage
) -> dict[str, Any]:
    small = images(truth.images[one.image])
    hit = set(one.partner[one.partner >= 0].tolist())
    there = [
        {"box": _corners(truth.boxes[row]), "name": truth.names[truth.category[row]], "found": place in hit}
        for place, row in enumerate(one.there[:MOST_BOXES])
    ]
    seen = [
        {"box": _corners(found.boxes[row]), "name": truth.names[found.category[row]],
         "score": round(float(found.score[row]), 3), "right": bool(partner >= 0)}
        for row, partner in list(zip(one.seen, one.partner, strict=True))[:MOST_BOXES]
    ]  # fmt: skip
    return {
        "name": small.name, "width": small.width, "height": small.height,
        "jpeg": base64.b64encode(small.jpeg).decode(), "missed": one.missed, "wrong": one.wrong,
        "truth": there, "found": seen,
    }  # fmt: skip


def _low_score_boxes(one: MatchedImage, truth: GroundTruth, faint: Predictions) -> list[dict[str, Any]]:
    """The best of the finds that score too low to count, no more than there are boxes: what the model leans to."""
    here = np.flatnonzero(faint.image == one.image)
    best = here[np.argsort(-faint.score[here], kind="stable")][: max(0, len(one.there) - len(one.seen))]
    return [
        {"box": _corners(faint.boxes[row]), "name": truth.names[faint.category[row]],
         "score": round(float(faint.score[row]), 3)}
        for row in best
    ]  # fmt: skip


def _corners(box: NDArray[np.float64]) -> list[float]:
    x, y, width, height = (float(value) for value in box)
    return [round(value, 1) for value in (x, y, x + width, y + height)]
