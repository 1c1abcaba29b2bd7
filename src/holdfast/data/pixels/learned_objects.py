"""Boxes of one part that hold what is background elsewhere, and objects once all are read in another way.

What an object looks like is learned from the boxes of the other images, and the background from boxes of the same
sizes beside them. A part is named only where both are clear, and the other reading finds objects as good as theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.data.pixels.misplaced_boxes import READINGS, Misplacement, Move, boxes_of_others
from holdfast.data.pixels.object_looks import ClassRegression, patch_of
from holdfast.data.pixels.subsets import parts_of

if TYPE_CHECKING:
    from holdfast.data.pixels.look_sample import CloseLook

GRID = 6  # pixels of each side of what is in a box
MOST_BOXES = 12  # of an image
MOST_LEARNED = 120  # images
FEWEST_IMAGES = 6
FEWEST_BOXES = 15
APART = 0.35  # of the scores of objects and of background, which lie between -1 and 1
LIKE_BACKGROUND = 0.35  # of the way from background to objects, or less
LIKE_OBJECTS = 0.65
SURE = 5.0  # standard errors of the gain of an image
WINS = 0.75  # of the images gain
BESIDE = 0.3  # overlap with a box, or less: background
_SCALES = (0.33, 0.4, 0.6, 0.67, 0.75, 0.8, 1.25, 1.33, 1.5, 1.67, 2.5, 3.0)


def _times(factor: float) -> Move:
    return lambda boxes, width, height: boxes * factor


_ALL_READINGS: Mapping[str, Move] = {
    **READINGS,
    **{f"with all numbers times {factor:g}": _times(factor) for factor in _SCALES},
}


class LearnedObjects:
    """What is in the boxes of each image, and beside them."""

    def __init__(self, looks: Sequence[CloseLook]) -> None:
        self.looks = [look for look in looks if len(look.boxes)]
        self._objects = [_rows_of(look, look.boxes) for look in self.looks]
        self._ground = [self._beside(at) for at in range(len(self.looks))]

    def misplacements(self, known: frozenset[int] = frozenset()) -> Iterator[Misplacement]:
        """Parts without images that are known to have their boxes elsewhere."""
        free = set(range(len(self.looks))) - known
        for name, members in parts_of(self.looks):
            if 2 * len(members) <= len(self.looks) + 1 and set(members) <= free:
                found = self._judged(name, members)
                if found is not None:
                    yield found
                    free -= set(members)

    def _beside(self, at: int) -> Any:
        look = self.looks[at]
        others = boxes_of_others(self.looks, at)[: 2 * MOST_BOXES]
        return _rows_of(look, others[_overlaps(others, look.boxes).max(axis=1) < BESIDE])

    def _judged(self, name: str, members: Sequence[int]) -> Misplacement | None:
        """The surest other reading of a part whose boxes hold background, if one finds objects."""
        inside = set(members)
        rest = [at for at in range(len(self.looks)) if at not in inside]
        rest = rest[:: 1 + len(rest) // MOST_LEARNED]
        boxes = sum(len(self._objects[at]) for at in members)
        if min(len(members), len(rest)) < FEWEST_IMAGES or boxes < FEWEST_BOXES:
            return None
        model = self._model(rest)
        if model is None:
            return None
        read = self._means(model, [self._objects[at] for at in members])
        level = _known_mean(read)
        levels = self._levels(rest) if level < 0 else None  # halfway between the two
        if levels is None or level > _between(levels, LIKE_BACKGROUND):
            return None
        found: list[tuple[float, Misplacement]] = []
        looks = [self.looks[at] for at in members]
        for how, move in _ALL_READINGS.items():
            moved = self._means(model, [_rows_of(look, move(look.boxes, *look.sides)) for look in looks])
            sure = _surely_gained(moved - read)
            if sure >= SURE and _known_mean(moved) >= _between(levels, LIKE_OBJECTS):
                numbers = level, _known_mean(moved), levels[0]
                found.append((sure, Misplacement(name, tuple(members), how, *numbers, learned=True)))
        return max(found, key=lambda one: one[0])[1] if found else None

    def _model(self, members: Sequence[int]) -> ClassRegression | None:
        import numpy as np

        objects = np.concatenate([self._objects[at] for at in members])
        ground = np.concatenate([self._ground[at] for at in members])
        if min(len(objects), len(ground)) < FEWEST_BOXES:
            return None
        names = np.array(["ground"] * len(ground) + ["object"] * len(objects), object)
        return ClassRegression(np.concatenate((ground, objects)), names, ("ground", "object"))

    def _levels(self, members: Sequence[int]) -> tuple[float, float] | None:
        """The mean score of background and of objects in images that were left out; None where they are not apart."""
        import numpy as np

        ground: list[float] = []
        objects: list[float] = []
        for fold in (0, 1):
            model = self._model(members[fold::2])
            if model is None:
                return None
            left = members[1 - fold :: 2]
            ground += self._means(model, [self._ground[at] for at in left]).tolist()
            objects += self._means(model, [self._objects[at] for at in left]).tolist()
        levels = _known_mean(np.array(ground)), _known_mean(np.array(objects))
        return levels if levels[1] - levels[0] >= APART else None

    def _means(self, model: ClassRegression, rows: Sequence[Any]) -> Any:
        """The mean score of each image: NaN where it has nothing to look at."""
        import numpy as np

        counts = np.array([len(one) for one in rows])
        scores = model.scores(np.concatenate(rows)) if counts.sum() else np.zeros((0, 2))
        each = np.split(scores[:, 1] - scores[:, 0], np.cumsum(counts)[:-1])
        return np.array([one.mean() if len(one) else np.nan for one in each])


def _known_mean(values: Any) -> float:
    import numpy as np

    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _surely_gained(gains: Any) -> float:
    """Standard errors by which the images gain; 0 where few gain, or few can be looked at."""
    import numpy as np

    known = gains[np.isfinite(gains)]
    if len(known) < max(FEWEST_IMAGES, 0.8 * len(gains)) or (known > 0).mean() < WINS:
        return 0.0
    return float(known.mean()) / max(float(known.std(ddof=1)) / math.sqrt(len(known)), 1e-6)


def _between(levels: tuple[float, float], part: float) -> float:
    return levels[0] + part * (levels[1] - levels[0])


def _rows_of(look: CloseLook, boxes: Any) -> Any:
    """What is in each box, and its shape; boxes that leave the image have none."""
    import numpy as np

    rows = []
    for box in boxes[:MOST_BOXES]:
        patch = patch_of(look.pixels, box, GRID)
        if patch is not None:
            width, height = box[2] - box[0], box[3] - box[1]
            rows.append(
                np.concatenate((patch.ravel(), [60 * np.log(width / height), 20 * np.log(width * height)]))
            )
    return np.array(rows, np.float32).reshape(-1, 3 * GRID * GRID + 2)


def _overlaps(some: Any, others: Any) -> Any:
    """Intersection over union of each with each."""
    import numpy as np

    low = np.maximum(some[:, None, :2], others[None, :, :2])
    high = np.minimum(some[:, None, 2:], others[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=2)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(axis=1) for boxes in (some, others)]
    return common / np.maximum(areas[0][:, None] + areas[1][None] - common, 1e-6)
