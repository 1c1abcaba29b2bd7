"""Boxes that lie on edges no more than boxes of other images do: annotations that do not belong to their images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.data.dataset_reader import Problem
from holdfast.data.pixels.edge_support import EdgeMap
from holdfast.data.pixels.misplaced_boxes import at_many_places, boxes_of_others

if TYPE_CHECKING:
    from holdfast.data.pixels.look_sample import CloseLook

FEWEST_IMAGES, FEWEST_BOXES = 40, 80
#: Support above that of other images' boxes, as a share of theirs, at its largest over all sizes. Boxes of four public
#: datasets and three drawn ones had 0.7 to 1.9; the same boxes dealt out to other images 0.02 to 0.13, and 0.35 where
#: every object is in the middle.
LEAST = 0.15
ERRORS = 2.0  # standard errors by which it may differ from what was measured
SIZES = (0.7, 0.8, 0.9, 1.0, 1.15)  # a generous hand draws boxes that are larger than the objects
BESIDE = 0.1  # of the smaller box at most is shared with a box of the image itself


def problems(looks: Sequence[CloseLook], path: str) -> Iterator[Problem]:
    import numpy as np

    boxed = [look for look in looks if len(look.boxes)]
    boxes = sum(len(look.boxes) for look in boxed)
    if len(boxed) < FEWEST_IMAGES or boxes < FEWEST_BOXES or not at_many_places(boxed):
        return
    own, others = (np.array(rows) for rows in zip(*_supports(boxed), strict=True))  # (images, sizes)
    known = np.isfinite(own - others).all(axis=1)
    count = int(known.sum())
    if count < FEWEST_IMAGES:
        return
    gained, chance = (own - others)[known], others[known].mean(axis=0)
    error = gained.std(axis=0, ddof=1) / count**0.5
    if (abs(gained.mean(axis=0)) + ERRORS * error >= LEAST * chance).any():
        return
    as_drawn = SIZES.index(1.0)
    said = (
        f"{count} images with {boxes} boxes looked at: the pixels change across the sides of their boxes by "
        f"{own[known, as_drawn].mean():.2f} of the usual change, and across boxes of other images laid beside them by "
        f"{chance[as_drawn]:.2f}"
    )
    yield Problem("unrelated-boxes", path, said, count)


def _supports(looks: Sequence[CloseLook]) -> Iterator[tuple[list[float], list[float]]]:
    """Of each image's own boxes and of those of others, in each size."""
    for at, look in enumerate(looks):
        edges, others = EdgeMap(look.pixels), _beside(boxes_of_others(looks, at), look.boxes)
        yield (
            [float(edges.mean_support(_resized(look.boxes, size))) for size in SIZES],
            [float(edges.mean_support(_resized(others, size))) for size in SIZES],
        )


def _resized(boxes: Any, size: float) -> Any:
    """About their centres."""
    import numpy as np

    centre, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2 * size
    return np.concatenate((centre - half, centre + half), axis=1)


def _beside(others: Any, own: Any) -> Any:
    """Those that lie on none of the image's own boxes: objects in the middle of every image are on the others' too."""
    import numpy as np

    low, high = (
        np.maximum(others[:, None, :2], own[None, :, :2]),
        np.minimum(others[:, None, 2:], own[None, :, 2:]),
    )
    shared = np.clip(high - low, 0, None).prod(axis=-1)
    areas = [np.clip(boxes[:, 2:] - boxes[:, :2], 1e-6, None).prod(axis=-1) for boxes in (others, own)]
    return others[(shared < BESIDE * np.minimum(areas[0][:, None], areas[1][None])).all(axis=1)]
