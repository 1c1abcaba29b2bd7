"""What the wrong detections are: by kind, and which class is taken for which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.evaluate.box_columns import Floats, GroundTruth, Ints, Predictions, by_image, overlaps

#: After Hoiem et al. 2012 and TIDE (Bolya et al. 2020). "missed" is a true box that nothing found.
KINDS = ("localisation", "class", "class-and-localisation", "duplicate", "background", "missed")

_MIN_OVERLAP = 0.1  # below this overlap a detection has nothing to do with a box


@dataclass(frozen=True, slots=True)
class Mistakes:
    """Counts above one score at one overlap. `confusion[true][found]`, the last row and column: background."""

    iou: float
    score_above: float
    right: int
    kinds: dict[str, int]
    confusion: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MatchedImage:
    """One image, crowds aside. `partner[k]` is the place in `there` that find `seen[k]` is right about, or -1."""

    image: int
    there: Ints
    seen: Ints
    partner: Ints

    @property
    def missed(self) -> int:
        return len(self.there) - int((self.partner >= 0).sum())

    @property
    def wrong(self) -> int:
        return int((self.partner < 0).sum())


def count(truth: GroundTruth, found: Predictions, *, iou: float = 0.5, score_above: float = 0.25) -> Mistakes:
    found = found.only(found.score >= score_above)
    classes = len(truth.categories)
    confusion = np.zeros((classes + 1, classes + 1), dtype=np.int64)
    kinds = dict.fromkeys(KINDS, 0)
    right = 0
    for one in matched_images(truth, found, iou):
        table = overlaps(found.boxes[one.seen], truth.boxes[one.there], truth.crowd[one.there])
        there, seen = truth.category[one.there], found.category[one.seen]
        right += int((one.partner >= 0).sum())
        kinds["missed"] += one.missed
        for row in np.flatnonzero(one.partner < 0):
            kinds[_kind(table[row], seen[row] == there, iou)] += 1
        _add_confusions(confusion, there, seen, greedy_match(table, iou))
    return Mistakes(iou, score_above, right, kinds, confusion)


def matched_images(truth: GroundTruth, found: Predictions, iou: float) -> Iterator[MatchedImage]:
    """Every image with boxes or finds. The best scored find first, each takes one box of its class.

    As in COCO, a find that got none and lies in a crowd of its class is neither right nor wrong, and is left out.
    """
    for image, there, seen in by_image(truth, found):
        crowd = truth.crowd[there]
        same = found.category[seen][:, None] == truth.category[there][None, :]
        table = np.where(same, overlaps(found.boxes[seen], truth.boxes[there], crowd), 0.0)
        partner = greedy_match(table[:, ~crowd], iou)
        counts = (partner >= 0) | ~(table[:, crowd] >= iou).any(axis=1)
        yield MatchedImage(image, there[~crowd], seen[counts], partner[counts])


def greedy_match(table: Floats, iou: float) -> Ints:
    """Best score first, each takes the free box that it overlaps most; -1 for none at or above `iou`."""
    partner = np.full(len(table), -1, dtype=np.int64)
    free = table.copy()
    for row in range(len(table)):
        if free.shape[1] and free[row].max() >= iou:
            partner[row] = free[row].argmax()
            free[:, partner[row]] = -1.0
    return partner


def _kind(overlap: Floats, same: NDArray[np.bool_], iou: float) -> str:
    own = overlap[same].max(initial=0.0)
    other = overlap[~same].max(initial=0.0)
    if own >= iou:
        return "duplicate"
    if own >= _MIN_OVERLAP:
        return "localisation"
    if other >= iou:
        return "class"
    return "class-and-localisation" if other >= _MIN_OVERLAP else "background"


def _add_confusions(confusion: NDArray[np.int64], there: Ints, seen: Ints, partner: Ints) -> None:
    background = len(confusion) - 1
    for category, match in zip(seen, partner, strict=True):
        confusion[there[match] if match >= 0 else background, category] += 1
    unmatched = np.setdiff1d(np.arange(len(there)), partner[partner >= 0])
    confusion[:background, background] += np.bincount(there[unmatched], minlength=background)
