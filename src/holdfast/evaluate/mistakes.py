"""What the wrong detections are: by kind, and which class is taken for which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.evaluate.columns import Floats, Found, Ints, Truth, by_image, overlaps

#: After Hoiem et al. 2012 and TIDE (Bolya et al. 2020). "missed" is a true box that nothing found.
KINDS = ("localisation", "class", "class-and-localisation", "duplicate", "background", "missed")

_TOUCHES = 0.1  # below this overlap a detection has nothing to do with a box


@dataclass(frozen=True, slots=True)
class Mistakes:
    """Counts above one score at one overlap. `confusion[true][found]`, the last row and column: background."""

    iou: float
    score_above: float
    right: int
    kinds: dict[str, int]
    confusion: NDArray[np.int64]


def count(truth: Truth, found: Found, *, iou: float = 0.5, score_above: float = 0.25) -> Mistakes:
    found = found.only(found.score >= score_above)
    classes = len(truth.categories)
    confusion = np.zeros((classes + 1, classes + 1), dtype=np.int64)
    kinds = dict.fromkeys(KINDS, 0)
    right = 0
    for _, there, seen in by_image(truth, found):
        crowd = truth.crowd[there]
        table = overlaps(found.boxes[seen], truth.boxes[there], crowd)
        same = found.category[seen][:, None] == truth.category[there][None, :]
        kept = ~_only_in_crowd(table, same, crowd, iou)
        table, same = table[kept][:, ~crowd], same[kept][:, ~crowd]
        there, seen = there[~crowd], seen[kept]
        partner = matched(np.where(same, table, 0.0), iou)
        right += int((partner >= 0).sum())
        kinds["missed"] += len(there) - int((partner >= 0).sum())
        for row in np.flatnonzero(partner < 0):
            kinds[_kind(table[row], same[row], iou)] += 1
        _confuse(confusion, truth.category[there], found.category[seen], matched(table, iou))
    return Mistakes(iou, score_above, right, kinds, confusion)


def _only_in_crowd(
    table: Floats, same: NDArray[np.bool_], crowd: NDArray[np.bool_], iou: float
) -> NDArray[np.bool_]:
    """A find inside a crowd of its class that is no single box's is neither right nor wrong."""
    in_crowd = ((table >= iou) & same & crowd[None, :]).any(axis=1)
    of_a_box = ((table >= iou) & same & ~crowd[None, :]).any(axis=1)
    return np.asarray(in_crowd & ~of_a_box)


def matched(table: Floats, iou: float) -> Ints:
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
    if own >= _TOUCHES:
        return "localisation"
    if other >= iou:
        return "class"
    return "class-and-localisation" if other >= _TOUCHES else "background"


def _confuse(confusion: NDArray[np.int64], there: Ints, seen: Ints, partner: Ints) -> None:
    background = len(confusion) - 1
    for category, match in zip(seen, partner, strict=True):
        confusion[there[match] if match >= 0 else background, category] += 1
    unmatched = np.setdiff1d(np.arange(len(there)), partner[partner >= 0])
    confusion[:background, background] += np.bincount(there[unmatched], minlength=background)
