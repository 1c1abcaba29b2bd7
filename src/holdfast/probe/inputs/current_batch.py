"""The batch of the step that is under way, where a loop of the user's own passes it through Python.

It is referred to weakly: when a loss breaks, the loop still has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...journal.events import BatchSeen
from ..runtime.context import ProbeContext
from ..runtime.nested_values import leaves
from ..runtime.weak_references import weak
from ..state import finiteness
from .box_checks import BoxColumns, judge
from .value_outliers import TypicalValues

PART = "current_batch"
_BATCHES_TO_KNOW = 16


class CurrentBatch:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._box_columns = BoxColumns()
        self._typical = TypicalValues()
        self._learnt = 0
        self._outlier_recorded = False
        self._leaves: list[Callable[[], Any]] = []

    def fetched(self, element: Any) -> None:
        arrays = [leaf for leaf in leaves(element) if hasattr(leaf, "shape")]
        self._leaves = [weak(array) for array in arrays]
        if self._learnt < _BATCHES_TO_KNOW:
            self._learnt += 1
            self._box_columns.learn([_array(one) if tuple(one.shape)[-1:] == (4,) else () for one in arrays])
            self._typical.learn([_array(one) for one in arrays])

    def faults(self) -> list[dict[str, Any]]:
        """What is wrong with it, by its parts."""
        arrays = [_array(leaf()) for leaf in self._leaves]
        parts = [judge(array, i, self._box_columns) for i, array in enumerate(arrays) if array is not None]
        return [part for part in parts if part is not None] or self.outliers()

    def outliers(self) -> list[dict[str, Any]]:
        """Values in it far beyond those of the first batches."""
        arrays = [_array(leaf()) for leaf in self._leaves]
        parts = [self._typical.outlier(array, i) for i, array in enumerate(arrays) if array is not None]
        return [part for part in parts if part is not None]

    def record_faults(self) -> list[dict[str, Any]]:
        """Records what is wrong with the batch at which a value was not finite, as far as it is known."""
        parts = self.faults()
        if parts:
            self._record(parts)
        return parts

    def loss_jumped(self) -> None:
        """Records a value far beyond the others in the batch at which the loss jumped."""
        parts = self.outliers()
        if parts and not self._outlier_recorded:
            self._outlier_recorded = True
            self._record(parts)

    def _record(self, parts: list[dict[str, Any]]) -> None:
        self._context.record(BatchSeen(role="train", step=self._context.heartbeat.step, parts=parts))


def _array(leaf: Any) -> Any:
    """As NumPy has it, where that waits for nothing; else None."""
    if leaf is None or not (isinstance(leaf, _numpy().ndarray) or finiteness.in_host_memory(leaf)):
        return None
    return leaf.numpy() if hasattr(leaf, "numpy") else leaf


def _numpy() -> Any:
    import numpy

    return numpy
