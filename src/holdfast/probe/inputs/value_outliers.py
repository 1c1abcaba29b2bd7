"""A value in a batch far beyond those of the batches before: what makes a loss jump in one step."""

from __future__ import annotations

from typing import Any

_VALUES = 4096  # of a part, that are read to know what is typical
_FAR = 1e3  # times the usual


class TypicalValues:
    """How large the values in each part of a batch are, learnt from a few batches."""

    def __init__(self) -> None:
        self._largest: dict[int, list[float]] = {}

    def learn(self, arrays: list[Any]) -> None:
        import numpy as np

        for index, array in enumerate(arrays):
            values = _numbers(array)
            if values is not None:
                values = values.reshape(-1)[:: max(1, values.size // _VALUES)]
                self._largest.setdefault(index, []).append(float(np.abs(values).max()))

    def outlier(self, array: Any, index: int) -> dict[str, Any] | None:
        """The value that lies far beyond, and its row; None when none does."""
        import numpy as np

        known, values = sorted(self._largest.get(index, [])), _numbers(array)
        if len(known) < 3 or values is None:
            return None
        usual = known[len(known) // 2]
        sizes = np.abs(values.reshape(len(values), -1) if values.ndim else values.reshape(1, -1))
        if not np.isfinite(sizes).all() or sizes.max() <= _FAR * max(usual, 1e-6):
            return None
        row, column = np.unravel_index(int(sizes.argmax()), sizes.shape)
        name = ("x", "y", "weight")[index] if index < 3 else f"part {index}"
        value = float(values.reshape(sizes.shape)[row, column])
        return {"path": name, "far": value, "usual": usual, "row": int(row), "shape": list(values.shape)}


def _numbers(array: Any) -> Any:
    import numpy as np

    array = np.asarray(array) if array is not None else None
    return array if array is not None and array.dtype.kind in "fiu" and array.size else None
