"""Maps with an object here and there, as for heat maps of centres or a mask of cells: where on the map they lie.

An object is a place that is exactly 1 beside places that are not. Coordinates beyond the map that were clipped to it
lie in its last row and in its last column.
"""

from __future__ import annotations

from typing import Any

_FEWEST_SIDE, _MOST_SIDE, _MOST_CHANNELS = 6, 512, 100
_MOST_OBJECTS, _MOST_BESIDE = (
    0.1,
    0.2,
)  # of the places that are objects; of the objects with another one beside
_MOST_PLACES = 2_000_000


def objects_on(array: Any) -> dict[str, int] | None:
    """Counts: "objects", those in the "top" and "bottom" row and in the "left" and "right" column, and the sides."""
    import numpy as np

    maps = _maps(array, np)
    if maps is None or not maps.size:
        return None
    step = max(1, -(-maps.size // _MOST_PLACES))
    best: dict[str, int] | None = None
    for channel in maps[::step].transpose(3, 0, 1, 2)[:_MOST_CHANNELS]:
        found = _objects_of(channel, np)
        best = added(best, found) if found is not None else best
    return best


def added(one: dict[str, int] | None, other: dict[str, int]) -> dict[str, int]:
    """Counts of the same map; of another one those that were first."""
    if one is None:
        return other
    sides = ("rows", "columns")
    if any(one[side] != other[side] for side in sides):
        return one
    return {name: one[name] + (other[name] if name not in sides else 0) for name in one}


def _maps(array: Any, np: Any) -> Any:
    """Images, rows, columns, channels; None for anything else."""
    if array is None or array.ndim not in (3, 4) or array.dtype.kind not in "fiub":
        return None
    if array.ndim == 3:
        array = array[..., None]
    elif array.shape[1] < min(array.shape[2:]):
        array = np.moveaxis(array, 1, -1)
    rows, columns, channels = array.shape[1:]
    fits = min(rows, columns) >= _FEWEST_SIDE and max(rows, columns) <= _MOST_SIDE
    return array if fits and channels <= min(rows, columns, _MOST_CHANNELS) else None


def _objects_of(maps: Any, np: Any) -> dict[str, int] | None:
    objects = maps == 1
    count = int(objects.sum())
    if not count or count > _MOST_OBJECTS * maps.size or maps.max() > 1 or maps.min() < 0:
        return None
    beside = np.zeros_like(objects)
    beside[:, 1:] |= objects[:, :-1]
    beside[:, :, 1:] |= objects[:, :, :-1]
    if (beside & objects).sum() > _MOST_BESIDE * count:
        return None  # areas, not places
    return {
        "objects": count, "rows": int(maps.shape[1]), "columns": int(maps.shape[2]),
        "top": int(objects[:, 0].sum()), "bottom": int(objects[:, -1].sum()),
        "left": int(objects[:, :, 0].sum()), "right": int(objects[:, :, -1].sum()),
    }  # fmt: skip
