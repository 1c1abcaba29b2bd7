"""Batches that pass through Python on their way to the step: the first one in numbers, and each that is larger.

Only values in host memory are looked at. In `fit` on TensorFlow a batch never passes through Python.
"""

from __future__ import annotations

import math
from typing import Any

from ...journal.events import BatchSeen
from ..runtime.context import ProbeContext
from ..state import finiteness
from . import datasets

PART = "batches"
_LARGER = 1.2
_SAY_AT_MOST = 20


def drawn(session: ProbeContext, element: Any, step: int) -> None:
    """Says the first batch with its values, and later ones by their shapes when they are the largest so far."""
    known = session.seen.setdefault("batches", {"largest": 0, "said": 0})
    leaves = [leaf for leaf in datasets.leaves(element) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
    size = sum(math.prod(leaf.shape) * _item_bytes(leaf) for leaf in leaves if None not in tuple(leaf.shape))
    if size <= _LARGER * known["largest"] or known["said"] >= _SAY_AT_MOST:
        return
    first = not known["said"]
    known.update(largest=size, said=known["said"] + 1)
    parts = [_part(leaf, index, with_values=first) for index, leaf in enumerate(leaves)]
    session.say(BatchSeen(role="train", step=step, parts=parts))


def _part(leaf: Any, index: int, *, with_values: bool) -> dict[str, Any]:
    part: dict[str, Any] = {
        "path": ("x", "y", "weight")[index] if index < 3 else f"part {index}",
        "shape": [int(side) for side in leaf.shape],
        "dtype": str(getattr(leaf.dtype, "name", leaf.dtype)).removeprefix("torch."),
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
