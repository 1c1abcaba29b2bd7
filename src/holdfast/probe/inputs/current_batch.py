"""The batch of the step that is under way, where a loop of the user's own has it in Python's hands.

It is not kept alive: when a loss breaks, the loop still holds it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ...journal.events import BatchSeen
from ..runtime.context import ProbeContext
from ..state import finiteness
from . import datasets
from .box_checks import BoxColumns, judge
from .value_outliers import TypicalValues

PART = "culprit"
_BATCHES_TO_KNOW = 16


class CurrentBatch:
    def __init__(self) -> None:
        self._known = BoxColumns()
        self._usual = TypicalValues()
        self._learnt = 0
        self._leaves: list[Callable[[], Any]] = []

    def drawn(self, element: Any) -> None:
        leaves = [leaf for leaf in datasets.leaves(element) if hasattr(leaf, "shape")]
        self._leaves = [weak(leaf) for leaf in leaves]
        if self._learnt < _BATCHES_TO_KNOW:
            self._learnt += 1
            self._known.learn([_array(leaf) if tuple(leaf.shape)[-1:] == (4,) else () for leaf in leaves])
            self._usual.learn([_array(leaf) for leaf in leaves])

    def faults(self) -> list[dict[str, Any]]:
        """What is wrong with it, by its parts."""
        arrays = [_array(leaf()) for leaf in self._leaves]
        found = [judge(array, index, self._known) for index, array in enumerate(arrays) if array is not None]
        return [part for part in found if part is not None] or self.far()

    def far(self) -> list[dict[str, Any]]:
        """Values in it far beyond those of the first batches."""
        arrays = [_array(leaf()) for leaf in self._leaves]
        found = [self._usual.far(array, index) for index, array in enumerate(arrays) if array is not None]
        return [part for part in found if part is not None]


def of(session: ProbeContext) -> CurrentBatch:
    found = session.seen.get("at_hand")
    if found is None:
        found = session.seen["at_hand"] = CurrentBatch()
    return found


def look(session: ProbeContext) -> bool:
    """Tells of a fault in the batch at which a value was not finite; False when none is known."""
    parts = of(session).faults()
    if parts:
        session.say(BatchSeen(role="train", step=session.progress.step, parts=parts))
    return bool(parts)


def loss_jumped(session: ProbeContext) -> None:
    """Tells of a value far beyond the others in the batch at which the loss jumped."""
    parts = of(session).far()
    if parts and not session.seen.get("far_said"):
        session.seen["far_said"] = True
        session.say(BatchSeen(role="train", step=session.progress.step, parts=parts))


def _array(leaf: Any) -> Any:
    """As NumPy has it, where that waits for nothing; else None."""
    if leaf is None or not (isinstance(leaf, _numpy().ndarray) or finiteness.in_host_memory(leaf)):
        return None
    return leaf.numpy() if hasattr(leaf, "numpy") else leaf


def _numpy() -> Any:
    import numpy

    return numpy


def weak(value: Any) -> Callable[[], Any]:
    """The probe keeps nothing of the user's alive."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: None
