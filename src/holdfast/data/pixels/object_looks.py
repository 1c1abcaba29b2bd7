"""What the objects of each class look like in one part of a dataset, and under which names they are in another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.data.dataset_reader import Problem
from holdfast.data.pixels.subsets import parts_of

if TYPE_CHECKING:
    from holdfast.data.pixels.look_sample import CloseLook

GRID = 6  # pixels of each side of an object's look
FEWEST_BOXES = 5  # of a class, in each part
FEWEST_IMAGES = 6
KNOWN = 0.8  # of the boxes of a class in the rest are recognised, or more
RENAMED = 0.75  # of the boxes of a class in the part look like one other class, or more
KEPT = 0.15  # of them look like their own class, or fewer
COLOURS_KNOWN = 0.85  # of the images in the rest look rather as they are than with two channels exchanged
COLOURS_EXCHANGED = 0.85  # of the images in the part look rather so with the channels exchanged
CLEARLY = 4.0  # difference of the squared distances, in deviations: grey things have no order of channels
MOST_PARTS = 16
STIFF = 3.0  # of the regression: how little one pixel may decide


class ObjectLooks:
    """A small image of each object, its class and its image."""

    def __init__(self, looks: Sequence[CloseLook]) -> None:
        import numpy as np

        self.looks = looks
        rows: list[Any] = []
        names: list[str] = []
        images: list[int] = []
        for at, look in enumerate(looks):
            for name, box in zip(look.names, look.boxes, strict=True):
                patch = patch_of(look.pixels, box, GRID)
                if patch is not None:
                    width, height = box[2] - box[0], box[3] - box[1]
                    shape = [60 * np.log(width / height), 20 * np.log(width * height)]
                    rows.append(np.concatenate((patch.ravel(), shape)))
                    names.append(name)
                    images.append(at)
        self.rows = np.array(rows, np.float32).reshape(-1, 3 * GRID * GRID + 2)
        self.names, self.images = np.array(names, object), np.array(images, int)

    def problems(self, path: str) -> Iterator[Problem]:
        """Classes that change their names, or images that change their colours, from one part to the rest."""
        yield from self._first(self._renamed, "class-order-differs", path)
        yield from self._first(self._colours_exchanged, "colour-order-differs", path)

    def _first(self, rule: Any, slug: str, path: str) -> Iterator[Problem]:
        import numpy as np

        for name, members in list(parts_of(self.looks))[1:MOST_PARTS]:
            inside = np.isin(self.images, members)
            if 2 * len(members) <= len(self.looks) + 1 and inside.any() and not inside.all():
                said, count = rule(inside)
                if said:
                    yield Problem(slug, path, f"{name}: {said}", count)
                    return

    # -- classes under other names -----------------------------------------------------------

    def _renamed(self, inside: Any) -> tuple[str, int]:
        import numpy as np

        here, rest = Counter(self.names[inside]), Counter(self.names[~inside])
        classes = sorted(
            name for name in rest if rest[name] >= 2 * FEWEST_BOXES and here[name] >= FEWEST_BOXES
        )
        if len(classes) < 2:
            return "", 0
        known = np.isin(self.names, classes)
        model = ClassRegression(self.rows[~inside & known], self.names[~inside & known], classes)
        seen = model.classes_of(self.rows[inside & known])
        labels = self.names[inside & known]
        found: dict[str, str] = {}
        for name in classes:
            of = seen[labels == name]
            other, count = Counter(of).most_common(1)[0]
            own = (of == name).mean()
            if other != name and count >= RENAMED * len(of) and own <= KEPT:
                found[name] = other
        circle = {name: other for name, other in found.items() if other in found}
        if len(set(circle.values())) < 2:
            return "", 0
        recognised = self._recognised_within(~inside & known, classes)
        if any(recognised[name] < KNOWN for name in circle):
            return "", 0
        pairs = ", ".join(f"what is called {name!r} looks like {other!r}" for name, other in circle.items())
        return f"{pairs}, as these are called elsewhere", sum(here[name] for name in circle)

    def _recognised_within(self, rest: Any, classes: Sequence[str]) -> dict[str, float]:
        """How well classes are recognised in images that were left out."""
        import numpy as np

        right: dict[str, list[float]] = {name: [] for name in classes}
        for fold in (0, 1):
            left = rest & (self.images % 2 == fold)
            if not left.any() or not (rest & ~left).any():
                continue
            model = ClassRegression(self.rows[rest & ~left], self.names[rest & ~left], classes)
            seen = model.classes_of(self.rows[left])
            for name in classes:
                right[name] += (seen[self.names[left] == name] == name).tolist()
        return {name: float(np.mean(found)) if found else 0.0 for name, found in right.items()}

    # -- red and blue exchanged --------------------------------------------------------------

    def _colours_exchanged(self, inside: Any) -> tuple[str, int]:
        import numpy as np

        rest = ~inside
        within = []
        for fold in (0, 1):
            left = rest & (self.images % 2 == fold)
            within.append(self._prefers_exchanged(rest & ~left, left))
        known, here = np.concatenate(within), self._prefers_exchanged(rest, inside)
        if min(len(known), len(here)) < FEWEST_IMAGES:
            return "", 0
        sure, others = int((here > CLEARLY).sum()), int((known < -CLEARLY).sum())
        if others < COLOURS_KNOWN * len(known) or sure < COLOURS_EXCHANGED * len(here):
            return "", 0
        said = (
            f"in {sure} of {len(here)} the objects have the colours of their classes only with red and blue "
        )
        return f"{said}exchanged, in {others} of {len(known)} others as they are", sure

    def _prefers_exchanged(self, reference: Any, judged: Any) -> Any:
        """For each image how much likelier the colours of its objects are with red and blue exchanged."""
        import numpy as np

        colours = self.rows[:, :-2].reshape(len(self.rows), -1, 3).mean(axis=1)
        gains = np.full(len(self.rows), np.nan)
        for name in set(self.names[judged]):
            known = colours[reference & (self.names == name)]
            if len(known) < FEWEST_BOXES:
                continue
            at = judged & (self.names == name)
            centre, spread = known.mean(axis=0), known.std(axis=0) + 6
            as_is = (((colours[at] - centre) / spread) ** 2).sum(axis=1)
            exchanged = (((colours[at][:, ::-1] - centre) / spread) ** 2).sum(axis=1)
            gains[at] = as_is - exchanged
        found = [
            float(np.nanmean(gains[self.images == image]))
            for image in sorted(set(self.images[judged]))
            if np.isfinite(gains[self.images == image]).any()
        ]
        return np.array(found)


class ClassRegression:
    """Ridge regression from an object's look to its class, each class with the same weight."""

    def __init__(self, rows: Any, names: Any, classes: Sequence[str]) -> None:
        import numpy as np

        self._classes = np.array(classes, object)
        self._centre, self._spread = rows.mean(axis=0), rows.std(axis=0) + 5
        x = self._scaled(rows)
        y = (names[:, None] == self._classes[None]).astype(np.float64)
        weight = (y / np.maximum(y.sum(axis=0), 1)).sum(axis=1)[:, None]
        gram = x.T @ (x * weight) + STIFF * np.eye(x.shape[1]) * len(classes) / max(len(rows), 1)
        self._weights = np.linalg.solve(gram, x.T @ ((y - 1 / len(classes)) * weight))

    def _scaled(self, rows: Any) -> Any:
        import numpy as np

        scaled = (rows - self._centre) / self._spread
        return np.concatenate((scaled, np.ones((len(rows), 1))), axis=1).astype(np.float64)

    def scores(self, rows: Any) -> Any:
        """(rows, classes): between about -1/2 and 1/2."""
        return self._scaled(rows) @ self._weights

    def classes_of(self, rows: Any) -> Any:
        return self._classes[self.scores(rows).argmax(axis=1)]


def patch_of(pixels: Any, box: Any, side: int) -> Any:
    """The pixels of a box as a grid, by the nearest; None where it is too small or outside."""
    import numpy as np

    height, width = pixels.shape[:2]
    x1, y1, x2, y2 = box
    if x2 - x1 < 3 or y2 - y1 < 3 or x1 < -2 or y1 < -2 or x2 > width + 2 or y2 > height + 2:
        return None
    steps = (np.arange(2 * side) + 0.5) / (2 * side)
    columns = np.clip((x1 + steps * (x2 - x1)).astype(int), 0, width - 1)
    rows = np.clip((y1 + steps * (y2 - y1)).astype(int), 0, height - 1)
    found = pixels[rows[:, None], columns[None]].astype(np.float32)
    return found.reshape(side, 2, side, 2, 3).mean(axis=(1, 3))
