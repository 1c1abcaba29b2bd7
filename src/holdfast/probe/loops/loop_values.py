"""Numbers about the inputs, targets and predictions of a loop, put together from the first batches that pass.

A sample keeps counts and sums, and no array of the user's.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from ...journal.events import ValuesSeen

_MOST_VALUES = 65_536  # of one batch, that are read
_MOST_DISTINCT = 1_000
_LISTED_CLASSES = 20
_MOST_COLUMNS = 4_096
_CLOSE = 1e-3  # a row of probabilities sums to 1 within this


class ValueSample:
    """Of one role: `add` batches, then ask for the `event`."""

    def __init__(self, role: str, name: str = "", where: str = "") -> None:
        self.role, self.name, self.where = role, name, where
        self.batches = self.rows = 0
        self._shape: list[int] = []
        self._dtype = ""
        self._count, self._sum, self._squares = 0, 0.0, 0.0
        self._min, self._max = math.inf, -math.inf
        self._finite = self._whole = self._one_hot = self._to_one = True
        self._distinct: set[float] = set()
        self._classes: Counter[int] = Counter()
        self._columns: Any = None  # sums and sums of squares of each column
        self._first_row: Any = None
        self._rows_differ = False

    def add(self, array: Any) -> None:
        import numpy as np

        values = _rows(np.asarray(array))
        if values is None:
            return
        self.batches += 1
        self.rows += len(values)
        self._shape, self._dtype = [int(side) for side in values.shape[1:]], str(values.dtype)
        numbers = values.astype("float64", copy=False)
        finite = numbers[np.isfinite(numbers)]
        self._finite = self._finite and finite.size == numbers.size
        if not finite.size:
            return
        self._count += int(finite.size)
        self._sum += float(finite.sum())
        self._squares += float(np.square(finite).sum())
        self._min, self._max = min(self._min, float(finite.min())), max(self._max, float(finite.max()))
        self._whole = self._whole and bool((finite == np.rint(finite)).all())
        if len(self._distinct) < _MOST_DISTINCT:
            self._distinct.update(np.unique(finite)[:_MOST_DISTINCT].tolist())
        self._add_rows(numbers.reshape(len(numbers), -1))
        if self.role != "input" and self._finite:
            self._add_classes(numbers)

    def _add_rows(self, rows: Any) -> None:
        import numpy as np

        if self._first_row is None or self._first_row.shape != rows[0].shape:
            self._first_row = rows[0].copy()
        self._rows_differ = self._rows_differ or bool((rows != self._first_row).any())
        if 1 < rows.shape[1] <= _MOST_COLUMNS and self.role == "input":
            sums = np.stack([rows.sum(0), np.square(rows).sum(0)])
            same = self._columns is not None and self._columns.shape == sums.shape
            self._columns = self._columns + sums if same else sums

    def _add_classes(self, values: Any) -> None:
        import numpy as np

        width = values.shape[-1] if values.ndim > 1 else 1
        if width > 1:
            self._one_hot = self._one_hot and bool(
                (np.isin(values, (0.0, 1.0)).all()) and (values.sum(-1) == 1).all()
            )
            self._to_one = self._to_one and bool(
                (np.abs(values.sum(-1) - 1) < _CLOSE).all() and values.min() >= 0
            )
            ids = values.argmax(-1) if self._one_hot or self.role == "prediction" else None
        else:
            self._one_hot = self._to_one = False
            ids = values if self._whole else None
        if ids is not None and len(self._classes) < _MOST_DISTINCT:
            found, counts = np.unique(ids, return_counts=True)
            self._classes.update({int(one): int(count) for one, count in zip(found, counts)})

    @property
    def constant(self) -> bool:
        return self._count > 0 and self._min == self._max

    def event(self, step: int) -> ValuesSeen:
        few = self._whole or self._one_hot or self.role == "prediction"
        listed = few and self.role != "input" and 0 < len(self._classes) < _MOST_DISTINCT
        mean = self._sum / self._count if self._count else None
        spread = max(0.0, self._squares / self._count - mean**2) if mean is not None else None
        return ValuesSeen(
            role=self.role,
            name=self.name,
            step=step,
            rows=self.rows,
            shape=self._shape,
            dtype=self._dtype,
            min=self._min if self._count else None,
            max=self._max if self._count else None,
            mean=mean,
            std=math.sqrt(spread) if spread is not None else None,
            finite=self._finite,
            whole_numbers=self._whole and self._count > 0,
            distinct=min(len(self._distinct), _MOST_DISTINCT) if self._count else None,
            sums_to_one=self._to_one and self._count > 0,
            one_hot=self._one_hot and self._count > 0,
            classes={str(one): n for one, n in self._classes.most_common(_LISTED_CLASSES)} if listed else {},
            class_count=len(self._classes) if listed else None,
            rows_differ=self._rows_differ if self.rows > 1 else None,
            where=self.where,
            **self._of_columns(),
        )

    def _of_columns(self) -> dict[str, Any]:
        import numpy as np

        if self._columns is None or not self._finite:
            return {}
        sums, squares = self._columns / max(1, self.rows)
        spread = np.sqrt(np.maximum(0.0, squares - np.square(sums)))
        moving = np.sort(spread[spread > 1e-6 * np.maximum(1.0, np.abs(sums))])
        scales = [float(moving[0]), float(np.median(moving)), float(moving[-1])] if moving.size else []
        constant = int(spread.size - moving.size)
        return {"constant_columns": constant, "columns": int(spread.size), "column_scales": scales}


def _rows(array: Any) -> Any:
    """As many whole rows as may be read; None for anything but numbers."""
    if array.dtype.kind not in "fiub" and "float" not in str(array.dtype):
        return None
    if not array.ndim or not array.size:
        return None
    width = max(1, array.size // len(array))
    return array[: max(1, _MOST_VALUES // width)]
