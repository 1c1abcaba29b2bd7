"""Boxes in a batch that cannot be, and values that are not finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_FEW_COLUMNS = 16  # of which those that are not finite are named
_ROWS_TO_KNOW = 16  # so many rows of four numbers must look like boxes before one of them is called a bad one


class BoxColumns:
    """Which arrays of a batch are boxes given by their corners, learnt from nearly all of their rows."""

    def __init__(self) -> None:
        self._ordered: dict[int, int] = {}
        self._rows: dict[int, int] = {}

    def learn(self, arrays: list[Any]) -> None:
        for index, array in enumerate(arrays):
            four = rows_of_four(array)
            if four is not None:
                self._ordered[index] = self._ordered.get(index, 0) + int((four.filled & four.ordered).sum())
                self._rows[index] = self._rows.get(index, 0) + int(four.filled.sum())

    def are_corners(self, index: int) -> bool:
        rows = self._rows.get(index, 0)
        return rows >= _ROWS_TO_KNOW and self._ordered[index] >= 0.9 * rows


@dataclass
class BoxRows:
    """The rows of an array whose last axis is four numbers long."""

    values: Any
    finite: Any  # all four are
    filled: Any  # and they are not padding, which repeats one number
    ordered: Any  # the third is above the first and the fourth above the second
    each: int  # rows to one sample


def rows_of_four(array: Any) -> BoxRows | None:
    import numpy as np

    array = np.asarray(array)
    if array.dtype.kind not in "fiu" or array.ndim not in (2, 3) or array.shape[-1] != 4:
        return None
    rows = array.reshape(-1, 4).astype("float64")
    finite = np.isfinite(rows).all(axis=1)
    filled = finite & ~(rows == rows[:, :1]).all(axis=1)
    ordered = (rows[:, 2] > rows[:, 0]) & (rows[:, 3] > rows[:, 1])
    return BoxRows(rows, finite, filled, ordered, array.shape[1] if array.ndim == 3 else 1)


def judge(array: Any, index: int, known: BoxColumns) -> dict[str, Any] | None:
    """What is wrong with one array of a batch, or None."""
    import numpy as np

    array = np.asarray(array)
    if array.dtype.kind not in "fiu" or not array.size:
        return None
    part: dict[str, Any] = {"path": f"part {index}", "shape": list(array.shape), "dtype": str(array.dtype)}
    finite = np.isfinite(array) if array.dtype.kind == "f" else np.ones(array.shape, bool)
    boxes = _boxes(array, index, known)
    if boxes:
        part["boxes"] = boxes
    if not finite.all():
        row = int(np.argwhere(~finite.reshape(len(array), -1).all(axis=1))[0][0]) if array.ndim else 0
        part.update(finite=False, row=row, value=str(array[~finite].flat[0]))
        if array.ndim > 1 and array.shape[-1] <= _FEW_COLUMNS:
            part["columns"] = [
                int(place) for place in np.flatnonzero(~finite.reshape(-1, array.shape[-1]).all(axis=0))
            ]
    return part if boxes or not finite.all() else None


def _boxes(array: Any, index: int, known: BoxColumns) -> dict[str, Any]:
    import numpy as np

    four = rows_of_four(array) if known.are_corners(index) else None
    if four is None:
        return {}
    rows = four.values
    inverted = four.filled & ((rows[:, 2] < rows[:, 0]) | (rows[:, 3] < rows[:, 1]))
    empty = four.filled & ~inverted & ((rows[:, 2] == rows[:, 0]) | (rows[:, 3] == rows[:, 1]))
    bad = inverted | empty | ~four.finite
    if not bad.any():
        return {}
    return {
        "inverted": int(inverted.sum()), "zero_area": int(empty.sum()), "not_finite": int((~four.finite).sum()),
        "rows": sorted({int(row) // four.each for row in np.flatnonzero(bad)})[:8],
        "first": [round(float(v), 4) if np.isfinite(v) else str(v) for v in rows[int(np.argmax(bad))]],
    }  # fmt: skip
