"""Targets of a grid with an object in each cell: whether there is one, its place in the cell, its size, a class.

What lies in which column is read from the numbers: cells without an object are all zeros, one column is 1 wherever
there is one, and the four next to each other that are not only zeros and ones are the box.
"""

from __future__ import annotations

from typing import Any

_BOX = 4
_RANKS = (4, 5)  # images, rows, columns and numbers; or one more for the anchors of a cell
_MOST_NUMBERS, _MOST_SIDE, _FEWEST_CELLS = 110, 256, 9
_MOST_PLACES = 200_000
_EMPTY = 0.5  # share of the cells, from which they are those without an object
_BEYOND = 1.5  # of a cell's side: a place in it is at most 1


def cells_seen(array: Any) -> dict[str, float] | None:
    """ "objects", "one_cell": share in the most frequent cell, "beyond": share whose place is outside of its cell,
    "highest": of these numbers, "negative": share with a size below 0, "follows": the weaker of the correlations of
    places in the image with sizes, in x and in y."""
    import numpy as np

    if array.ndim not in _RANKS or not _BOX < array.shape[-1] <= _MOST_NUMBERS:
        return None
    height, width = array.shape[1:3]
    if height * width < _FEWEST_CELLS or max(height, width) > _MOST_SIDE:
        return None
    images = max(1, _MOST_PLACES // int(np.prod(array.shape[1:-1])))
    sample = array[:: max(1, -(-len(array) // images))]
    rows = sample.reshape(-1, sample.shape[-1]).astype("float64")
    filled = (rows != 0).any(axis=1)
    if not np.isfinite(rows).all() or not 0 < filled.mean() < 1 - _EMPTY:
        return None
    objects = rows[filled]
    start = _box_in(objects, np)
    if start is None:
        return None
    at = np.indices(sample.shape[:-1])
    row, column = (at[axis].reshape(-1)[filled] for axis in (1, 2))
    across, down, wide, high = objects[:, start : start + _BOX].T
    _, counts = np.unique(row * width + column, return_counts=True)
    place = np.stack([across, down])
    pairs = ((column + across) / width, wide), ((row + down) / height, high)
    return {
        "objects": len(objects),
        "one_cell": float(counts.max() / len(objects)),
        "beyond": float(((place > _BEYOND) | (place < 1 - _BEYOND)).any(axis=0).mean()),
        "highest": float(place.max()),
        "negative": float(((wide < 0) | (high < 0)).mean()),
        "follows": max(_correlation(place, size, np) for place, size in pairs),
    }


def _correlation(one: Any, other: Any, np: Any) -> float:
    return float(np.corrcoef(one, other)[0, 1]) if one.std() and other.std() else 0.0


def _box_in(objects: Any, np: Any) -> int | None:
    """The first of its columns."""
    of_two_values = np.isin(objects, (0.0, 1.0)).all(axis=0)
    always = (objects == 1).all(axis=0)
    numbers = np.flatnonzero(~of_two_values)
    if len(numbers) != _BOX or numbers[-1] - numbers[0] != _BOX - 1 or not always.any():
        return None
    if objects.shape[1] == _BOX + 1 and numbers[0] == 0:  # a box and whether there is one, in any unit
        return None
    return int(numbers[0])
