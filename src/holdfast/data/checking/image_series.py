"""What images in the order of their numbers give away: boxes that were copied on, a class that was dropped,
annotations that slipped by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from holdfast.data.checking.look_alikes import unlike
from holdfast.data.dataset_reader import Problem
from holdfast.data.files.packed_list import PackedList

FEWEST_REPEATS = 3  # consecutive images with the same boxes
MOST_REPEATS = 0.5  # of a series; where more have the same boxes it is a form, or a fixed camera's objects
DIFFERENT = 0.3  # one minus the correlation of two small grey images
FEWEST_LEFT = 10  # images without a class
LEAST_LEFT = 0.2  # of the series
LEAST_RATE = 0.3  # of the images before have the class
CHANCE = 1e-6  # that a class is in none of the rest
AS_BEFORE = 1.5  # times as often, or as seldom: another class continues
FEWEST_SHIFTED = 6  # annotations that declare the size of the image beside theirs
MOST_SHIFTED = 0.8  # of those that declare another size than their image's


def problems(
    names: Sequence[str], table: Any, classes: Sequence[str], series: Iterable[Any], path: str
) -> Iterator[Problem]:
    """All that this module knows of the images with these names; `table` is what the statistics keep of each, and
    `series` the positions of images that are numbered."""
    for members in series:
        rows = table[members]
        ordered = PackedList(names[at] for at in members)
        yield from repeated_boxes(ordered, rows)
        yield from stopped_classes(ordered, rows, classes, path)
        yield from shifted(ordered, rows)


def repeated_boxes(names: Sequence[str], rows: Any) -> Iterator[Problem]:
    """Two boxes or more, equal to the last digit in image after image, though the images look different."""
    labels, counts = rows["boxes"], rows["count"]
    runs: list[tuple[int, int]] = []
    start = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or labels[at] != labels[start]:
            if at - start >= FEWEST_REPEATS and counts[start] >= 2 and labels[start]:
                runs.append((start, at))
            start = at
    if sum(end - start for start, end in runs) > MOST_REPEATS * len(rows):
        return
    for start, end in runs:
        looks = rows["look"][start:end]
        if rows["looked"][start:end].all() and (unlike(looks[:-1], looks[1:]) > DIFFERENT).mean() >= 0.8:
            said = f"{end - start} images from this one to {names[end - 1]} have exactly the same {counts[start]} boxes"
            yield Problem("repeated-boxes", names[start], said, end - start)


def stopped_classes(names: Sequence[str], rows: Any, classes: Sequence[str], path: str) -> Iterator[Problem]:
    """A class that many images have up to one, and none from there on, while the other classes go on.

    Where images are sorted by what is in them, the others change as well.
    """
    import numpy as np

    if len(rows) < 2 * FEWEST_LEFT:
        return
    used = int(np.bitwise_or.reduce(rows["classes"]))
    there = {
        name: (rows["classes"] >> np.uint64(bit)) & 1 > 0
        for bit, name in enumerate(classes[:64])
        if used >> bit & 1
    }
    for name, found in there.items():
        for backwards in (False, True):
            order = found[::-1] if backwards else found
            left = int(order[::-1].argmax()) if order.any() else 0
            with_it = order[: len(order) - left]
            rate = float(with_it.mean())
            few = left < max(FEWEST_LEFT, LEAST_LEFT * len(order)) or len(with_it) < FEWEST_LEFT
            if few or rate < LEAST_RATE or (1 - rate) ** left > CHANCE:
                continue
            others = [one[::-1] if backwards else one for other, one in there.items() if other != name]
            if _go_on(others, len(with_it), rows["count"][::-1] if backwards else rows["count"]):
                edge = names[left - 1] if backwards else names[len(order) - left]
                where = "up to" if backwards else "from"
                said = f"{name!r} is in {int(with_it.sum())} of {len(with_it)} images, "
                said += f"and in none of the {left} {where} "
                yield Problem(
                    "class-stops", path, f"{said}{edge}; the other classes are there as before", left
                )


def _go_on(others: Sequence[Any], border: int, counts: Any) -> bool:
    """At least one other class is usual, and each usual one is about as usual on both sides."""
    if (counts[border:] > 0).mean() < 0.9:
        return False
    rates = [(float(one[:border].mean()), float(one[border:].mean())) for one in others]
    usual = [pair for pair in rates if max(pair) >= LEAST_RATE]
    return bool(usual) and all(max(pair) <= AS_BEFORE * min(pair) for pair in usual)


def shifted(names: Sequence[str], rows: Any) -> Iterator[Problem]:
    """Annotations that declare another size than their image's, and that of its neighbour, all the same one."""
    real, declared = rows["real"], rows["declared"]
    wrong = (real != declared).any(axis=1) & (declared > 0).all(axis=1) & (real > 0).all(axis=1)
    for step, which in ((1, "next"), (-1, "previous")):
        at = [place for place in wrong.nonzero()[0] if 0 <= place + step < len(rows)]
        fit = [place for place in at if (declared[place] == real[place + step]).all()]
        sizes = {tuple(declared[place].tolist()) for place in fit}
        if len(fit) >= FEWEST_SHIFTED and len(fit) >= MOST_SHIFTED * len(at) and len(sizes) >= 4:
            said = (
                f"from here on the annotations declare the size of the {which} image: {len(fit)} of {len(at)}"
            )
            yield Problem(
                "shifted-annotations", names[fit[0]], f"{said} that declare another than their own", len(fit)
            )
            return
