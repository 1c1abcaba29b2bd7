"""Where in its image could an object of one class be? A score for each window of the class's usual size.

Images are shrunk until such a window is a few pixels wide, so that all windows of an image are one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.data.pixels.object_looks import ClassRegression

if TYPE_CHECKING:
    from holdfast.data.pixels.look_sample import CloseLook

GRID = 6  # pixels of each side of a window
MOST_GROUND = 12  # windows of an image that are learned as background
MOST_WINDOWS = 20_000  # of an image: smaller objects are not looked for
FEWEST_OBJECTS = 15


class WindowScores:
    """Learns one class in some images, and scores the windows of others."""

    def __init__(self, looks: Sequence[CloseLook], name: str) -> None:
        import numpy as np

        sizes = [
            box[2:] - box[:2]
            for look in looks
            for box, named in zip(look.boxes, look.names, strict=True)
            if named == name
        ]
        self.size = np.median(sizes, axis=0)
        self._looks, self._name = looks, name
        self._random = np.random.default_rng(0)

    def possible(self) -> bool:
        """The class is not so small that an image has too many windows."""
        areas = [float(look.sides[0] * look.sides[1]) for look in self._looks]
        return max(areas) * GRID * GRID / max(float(self.size.prod()), 1e-6) <= MOST_WINDOWS

    def learned(self, members: Sequence[int]) -> ClassRegression | None:
        import numpy as np

        objects, ground = [], []
        for at in members:
            windows, scale = self._windows(at)
            look = self._looks[at]
            own = np.array([named == self._name for named in look.names], bool)
            objects.append(_at_boxes(windows, look.boxes[own], scale))
            ground.append(_at_boxes(windows, look.boxes[~own], scale)[: MOST_GROUND // 2])
            free = np.argwhere(self._free(at, windows.shape[:2], scale))
            chosen = free[self._random.permutation(len(free))[:MOST_GROUND]]
            ground.append(windows[chosen[:, 0], chosen[:, 1]])
        some, others = np.concatenate(objects), np.concatenate(ground)
        if min(len(some), len(others)) < FEWEST_OBJECTS:
            return None
        names = np.array([""] * len(others) + [self._name] * len(some), object)
        return ClassRegression(np.concatenate((others, some)), names, ("", self._name))

    def best(self, model: ClassRegression, at: int, *, annotated: bool) -> float:
        """The highest score of an image: at the boxes of the class, or where no box of any class is. NaN for none."""
        import numpy as np

        windows, scale = self._windows(at)
        look = self._looks[at]
        if annotated:
            own = np.array([named == self._name for named in look.names], bool)
            rows = _at_boxes(windows, look.boxes[own], scale)
        else:
            rows = windows[self._free(at, windows.shape[:2], scale)]
        if not len(rows):
            return float("nan")
        scores = model.scores(rows)
        return float((scores[:, 1] - scores[:, 0]).max())

    def _windows(self, at: int) -> tuple[Any, Any]:
        """(down, across, pixels) of all windows, and how much the image was shrunk."""
        import numpy as np
        from PIL import Image

        look = self._looks[at]
        sides = [
            max(GRID, round(side * GRID / size)) for side, size in zip(look.sides, self.size, strict=True)
        ]
        small = np.asarray(Image.fromarray(look.pixels).resize(sides, Image.Resampling.BOX), np.float32)
        found = np.lib.stride_tricks.sliding_window_view(small, (GRID, GRID), axis=(0, 1))
        return found.reshape(*found.shape[:2], -1), np.array(sides) / look.sides

    def _free(self, at: int, shape: tuple[int, int], scale: Any) -> Any:
        """Windows whose centres are in no box, and not close to one."""
        import numpy as np

        down, across = np.mgrid[: shape[0], : shape[1]]
        x, y = (across + GRID / 2) / scale[0], (down + GRID / 2) / scale[1]
        free = np.ones(shape, bool)
        for x1, y1, x2, y2 in self._looks[at].boxes:
            near_x, near_y = self.size / 4
            free &= ~((x > x1 - near_x) & (x < x2 + near_x) & (y > y1 - near_y) & (y < y2 + near_y))
        return free


def _at_boxes(windows: Any, boxes: Any, scale: Any) -> Any:
    """The windows around the middle of each box."""
    import numpy as np

    middle = (boxes[:, :2] + boxes[:, 2:]) / 2 * scale - GRID / 2
    across, down = (
        np.clip(np.rint(middle[:, axis]).astype(int), 0, windows.shape[1 - axis] - 1) for axis in (0, 1)
    )
    return windows[down, across]
