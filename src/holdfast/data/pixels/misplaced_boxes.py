"""Boxes that lie beside the objects, and on them once all are mirrored, turned, scaled or moved in one way.

Nothing is said of boxes that lie on edges as they are read, nor where no other reading is clearly better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.data.pixels.edge_support import EdgeMap
from holdfast.data.pixels.subsets import parts_of

if TYPE_CHECKING:
    from holdfast.data.pixels.look_sample import CloseLook

FEWEST_IMAGES = 6
FEWEST_BOXES = 15
FEWEST_PLACES = 12  # of different boxes: one thing seen again and again is one observation
SURE = 5.0  # standard errors of the difference between two readings
SURE_MOVED = 7.0  # where the best of hundreds of moves was chosen
TIMES = 2.0  # the other reading's support above chance, over that of the boxes as they are read
LEAST = 0.12  # support above chance
WINS = 0.75  # of the images, or more, have the boxes rather where the other reading puts them
LEAST_SHIFT = 0.25  # of the median box, along one side: less is a loose hand
FAR = 0.3  # of a side: the longest move that is tried
STEPS = 12  # to either side
MOST_OTHERS = 24  # boxes of other images in one
MOST_PARTS = 3  # parts of a dataset of which something is said

Move = Callable[[Any, int, int], Any]

READINGS: dict[str, Move] = {
    "mirrored left to right": lambda b, w, h: _joined(w - b[:, 2], b[:, 1], w - b[:, 0], b[:, 3]),
    "mirrored top to bottom": lambda b, w, h: _joined(b[:, 0], h - b[:, 3], b[:, 2], h - b[:, 1]),
    "turned by 180 degrees": lambda b, w, h: _joined(w - b[:, 2], h - b[:, 3], w - b[:, 0], h - b[:, 1]),
    "with x and y exchanged": lambda b, w, h: b[:, [1, 0, 3, 2]],
    "with x and y exchanged as fractions of the sides": lambda b, w, h: _joined(
        b[:, 1] * w / h, b[:, 0] * h / w, b[:, 3] * w / h, b[:, 2] * h / w
    ),
    "turned by 90 degrees to the right": lambda b, w, h: _turned(b, w, h, right=True),
    "turned by 90 degrees to the left": lambda b, w, h: _turned(b, w, h, right=False),
    "with all numbers halved": lambda b, w, h: b / 2,
    "with all numbers doubled": lambda b, w, h: b * 2,
    "read as centre and size": lambda b, w, h: b - (b[:, [2, 3, 2, 3]] - b[:, [0, 1, 0, 1]]) / 2,
    "with the corner where the centre was": lambda b, w, h: b + (b[:, [2, 3, 2, 3]] - b[:, [0, 1, 0, 1]]) / 2,
}


@dataclass(frozen=True, slots=True)
class Misplacement:
    """Where all boxes of a part should be."""

    part: str
    members: tuple[int, ...]  # positions of its images in the sample
    how: str  # what brings the boxes onto the objects
    as_read: float
    moved: float
    chance: float
    learned: bool = False  # by what is in the boxes of the other images, and not by edges

    @property
    def text(self) -> str:
        if self.learned:
            return (
                f"{self.part} ({len(self.members)} looked at): the boxes hold what boxes of the other images hold "
                f"{self.how}, and background as they are read (likeness: {self.moved:.2f} against {self.as_read:.2f})"
            )
        said = f"{self.part} ({len(self.members)} looked at): the boxes lie on edges {self.how}, and not as they "
        return said + (
            f"are read (change of the pixels across their sides: {self.moved:.2f} against {self.as_read:.2f}; "
            f"boxes of other images: {self.chance:.2f})"
        )


def misplacements(looks: Sequence[CloseLook]) -> Iterator[Misplacement]:
    """The parts of a dataset whose boxes lie elsewhere, the clearest first."""
    boxed = [look for look in looks if len(look.boxes)]
    if len(boxed) < FEWEST_IMAGES:
        return
    table = _Supports(boxed)
    free = set(range(len(boxed)))
    for _ in range(MOST_PARTS):
        found = [
            one
            for name, members in parts_of(boxed)
            if set(members) <= free and (one := table.judged(name, members)) is not None
        ]
        if not found:
            return
        best = _widest(max(found, key=lambda one: one.sure), found)
        yield best.misplacement
        free -= set(best.misplacement.members)


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    misplacement: Misplacement
    sure: float
    better: dict[int, bool]  # for each image that shows it, whether the other reading is better


def _widest(best: _Judged, found: Sequence[_Judged]) -> _Judged:
    """The largest part around this one with the same fault, if it has the fault also where the smaller part ends."""
    inner = set(best.misplacement.members)
    widest = best
    for other in found:
        members, how = other.misplacement.members, other.misplacement.how
        more = [other.better.get(at, False) for at in set(members) - inner]
        if (
            how == best.misplacement.how
            and inner < set(members)
            and len(members) > len(widest.misplacement.members)
            and sum(more) >= WINS * len(more)
        ):
            widest = other
    return widest


class _Supports:
    """For each image the support of its boxes under each reading, and that of other images' boxes read so."""

    def __init__(self, looks: Sequence[CloseLook]) -> None:
        import numpy as np

        self.looks = looks
        self._steps = np.linspace(-FAR, FAR, 2 * STEPS + 1)
        rows, moves, row_chances, move_chances = [], [], [], []
        for at, look in enumerate(looks):
            edges = EdgeMap(look.pixels)
            others = boxes_of_others(looks, at)
            shifts = self._shifts(*look.sides)
            rows.append(edges.mean_support(_all_readings(look.boxes, *look.sides)))
            row_chances.append(edges.mean_support(_all_readings(others, *look.sides)))
            moves.append(edges.mean_support(look.boxes + shifts))
            move_chances.append(edges.mean_support(others[:MOST_OTHERS] + shifts))
        self._rows, self._moves = (
            np.array(rows),
            np.array(moves),
        )  # (images, readings), (images, down, across)
        self._row_chances, self._move_chances = np.array(row_chances), np.array(move_chances)

    def _shifts(self, width: int, height: int) -> Any:
        """(down, across, 1, 4), so that it adds to boxes."""
        import numpy as np

        side = max(width, height)  # one step is as long across as down
        down, across = np.meshgrid(self._steps * side, self._steps * side, indexing="ij")
        return np.stack((across, down, across, down), -1)[:, :, None]

    def judged(self, name: str, members: Sequence[int]) -> _Judged | None:
        import numpy as np

        at = np.array(members)
        if len(members) < FEWEST_IMAGES or not at_many_places([self.looks[place] for place in members]):
            return None
        # Boxes that leave their image as they are read lie on nothing there.
        read = np.nan_to_num(self._rows[at, 0] - self._row_chances[at, 0], nan=0.0)
        best: _Judged | None = None
        for how, moved, chance in (*self._other_readings(at), *self._moved(at)):
            gained = moved - chance
            sure = _surer(gained, read)
            wanted = SURE if how in READINGS else SURE_MOVED
            if sure >= wanted and (best is None or sure > best.sure):
                both = np.isfinite(gained)
                usual = float(chance[both].mean())
                numbers = usual + float(read[both].mean()), float(moved[both].mean()), usual
                better = {int(place): bool(gained[n] > read[n]) for n, place in enumerate(at) if both[n]}
                best = _Judged(Misplacement(name, tuple(members), how, *numbers), sure, better)
        return best

    def _other_readings(self, at: Any) -> Iterator[tuple[str, Any, Any]]:
        for column, how in enumerate(READINGS, 1):
            yield how, self._rows[at, column], self._row_chances[at, column]

    def _moved(self, at: Any) -> Iterator[tuple[str, Any, Any]]:
        """The move that brings most boxes onto edges, if it is longer than a loose hand's."""
        import numpy as np

        above = self._moves[at] - self._move_chances[at]
        known = np.isfinite(above)
        counts = known.sum(axis=0)
        means = np.where(known, above, 0).sum(axis=0) / np.maximum(counts, 1)
        means[counts < max(FEWEST_IMAGES, 0.6 * len(at))] = 0
        down, across = np.unravel_index(int(means.argmax()), means.shape)
        how = self._said(
            [self.looks[place] for place in at], float(self._steps[across]), float(self._steps[down])
        )
        if how:
            yield how, self._moves[at, down, across], self._move_chances[at, down, across]

    def _said(self, looks: Sequence[CloseLook], across: float, down: float) -> str:
        """A move in words, in pixels of the images; empty where it is shorter than a part of the usual box."""
        import numpy as np

        usual = float(np.median([max(look.sides) / look.scale for look in looks]))
        move = np.array([across, down]) * usual
        sizes = np.concatenate([(look.boxes[:, 2:] - look.boxes[:, :2]) / look.scale for look in looks])
        if (np.abs(move) / np.maximum(np.median(sizes, axis=0), 1e-6)).max() < LEAST_SHIFT:
            return ""
        ways = [
            f"{abs(length):.0f} pixels further {words[int(length > 0)]}"
            for length, words in zip(move, (("left", "right"), ("up", "down")), strict=True)
            if abs(length) >= 0.5
        ]
        return "about " + " and ".join(ways)


def at_many_places(looks: Sequence[CloseLook]) -> bool:
    """Enough boxes, at enough places: a thing that is always there proves as little as one box."""
    places = [
        (names, *(8 * (box[:2] + box[2:]) / look.sides).astype(int).tolist())
        for look in looks
        for names, box in zip(look.names, look.boxes, strict=True)
    ]
    return len(places) >= FEWEST_BOXES and len(set(places)) >= min(max(FEWEST_PLACES, len(places) // 3), 40)


def _surer(gained: Any, read: Any) -> float:
    """How many standard errors another reading is better than the boxes as read; 0 where it is not clearly so."""
    import numpy as np

    known = np.isfinite(gained)
    if known.sum() < max(FEWEST_IMAGES, 0.5 * len(read)):
        return 0.0
    gain = gained[known] - read[known]
    error = float(gain.std(ddof=1)) / len(gain) ** 0.5
    above, below = float(gained[known].mean()), float(read[known].mean())
    clear = above >= LEAST and above >= TIMES * max(below, 0.0) and (gain > 0).mean() >= WINS
    # Of two parts with as clear a gain the one without images that show nothing.
    return float(known.mean() * gain.mean()) / max(error, 1e-6) if clear else 0.0


def _all_readings(boxes: Any, width: int, height: int) -> Any:
    import numpy as np

    return np.stack([boxes, *(move(boxes, width, height) for move in READINGS.values())])


def boxes_of_others(looks: Sequence[CloseLook], at: int) -> Any:
    """Boxes of other images: what lies in the middle, or at a machine that is always there, has more edges."""
    import numpy as np

    width, height = looks[at].sides
    found = []
    for step in (1, 2, 3, 5, 7):
        other = looks[(at + step) % len(looks)]
        scale = np.array([width / other.sides[0], height / other.sides[1]] * 2)
        found.append(other.boxes[: MOST_OTHERS // 2] * scale)
    return np.concatenate(found)


def _turned(boxes: Any, width: int, height: int, *, right: bool) -> Any:
    """Boxes of the image that becomes this one by a quarter turn."""
    x1, y1, x2, y2 = (boxes[:, at] / side for at, side in zip(range(4), (width, height) * 2, strict=True))
    turned = (1 - y2, x1, 1 - y1, x2) if right else (y1, 1 - x2, y2, 1 - x1)
    return _joined(turned[0] * width, turned[1] * height, turned[2] * width, turned[3] * height)


def _joined(*columns: Any) -> Any:
    import numpy as np

    return np.stack(columns, axis=1)
