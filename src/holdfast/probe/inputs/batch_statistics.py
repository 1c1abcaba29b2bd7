"""Batches that pass through Python on their way to the step: the first one in numbers, and each that is larger.

Only values in host memory are read. In `fit` on TensorFlow a batch never passes through Python.
"""

from __future__ import annotations

from typing import Any

from ...journal.events import BatchSeen
from ..runtime.context import ProbeContext
from ..runtime.nested_values import leaves
from ..state import finiteness, model_facts
from . import datasets

PART = "batch_statistics"
_LARGER = 1.2  # times the largest so far
_MAX_RECORDED = 20


class BatchStatistics:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._largest_bytes = 0
        self._recorded = 0

    def fetched(self, element: Any, step: int) -> None:
        """Records the first batch with its values, and later ones by their shapes when they are the largest so far."""
        arrays = [leaf for leaf in leaves(element) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
        known = [array for array in arrays if None not in tuple(array.shape)]
        size_bytes = sum(model_facts.size(array) * _item_bytes(array) for array in known)
        if size_bytes <= _LARGER * self._largest_bytes or self._recorded >= _MAX_RECORDED:
            return
        first = not self._recorded
        self._largest_bytes = size_bytes
        self._recorded += 1
        parts = [_part(array, index, with_values=first) for index, array in enumerate(arrays)]
        self._context.record(BatchSeen(role="train", step=step, parts=parts))


def _part(leaf: Any, index: int, *, with_values: bool) -> dict[str, Any]:
    part: dict[str, Any] = {
        "path": ("x", "y", "weight")[index] if index < 3 else f"part {index}",
        "shape": [int(side) for side in leaf.shape],
        "dtype": str(getattr(leaf.dtype, "name", leaf.dtype)).rpartition(".")[
            2
        ],  # torch says "torch.float32"
    }
    if with_values and finiteness.in_host_memory(leaf):
        leaf = leaf.detach() if hasattr(leaf, "detach") else leaf
        values = leaf.numpy() if hasattr(leaf, "numpy") else leaf
        if getattr(values, "ndim", 0):
            part.update({k: v for k, v in datasets.statistics(values).items() if k not in ("of", "whole")})
    return part


def _item_bytes(leaf: Any) -> int:
    kind = leaf.dtype
    return int(getattr(kind, "itemsize", 0) or getattr(kind, "size", 0) or 0)
