"""After the first value that is not finite: is there one in the training data, or a box that cannot be?

The data is read once more, in a thread of its own, for a few seconds. Only a dataset that gives
its elements again without running a user's Python code, and without writing, is drawn from.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from ...journal.events import BatchSeen
from ..runtime import hidden_thread
from ..runtime.context import ProbeContext
from ..state import tfdata_graph
from . import stored_values
from .box_checks import BoxColumns, judge
from .value_outliers import TypicalValues

PART = "nonfinite_search"
_BUDGET_S = (
    8.0  # and as long at the end of a script that is over before: the run is lost, and nobody waits for more
)
_BATCHES_TO_KNOW = 16
_ROWS = 256  # of an array, at a time
_WRITES = ("cache", "snapshot", "save")
_WITHOUT_STATE = frozenset(
    [
        "tensor_slice", "tensor", "range", "tfrecord", "batch", "padded_batch", "unbatch", "prefetch", "take", "skip",
        "shard", "repeat", "zip", "concatenate", "options", "model",
    ]
)  # fmt: skip


class NonfiniteSearch:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.started = False

    def start(self, weights_broken: bool) -> None:
        """Once in a run. When weights are not finite the run is lost, and reading its data again can change nothing
        that counts; before that only data is read of which a second reader changes nothing."""
        context = self._context
        source = _source(context, weights_broken)
        if source is None:
            return
        self.started = True
        stop = threading.Event()
        thread = hidden_thread.HiddenThread(context.guard, PART, _search, context, source, stop)

        def finish() -> None:
            thread.join(_BUDGET_S)
            stop.set()
            thread.join(0.5)

        context.at_exit.append(finish)


def _source(context: ProbeContext, weights_broken: bool) -> Callable[[], Iterable[list[Any]]] | None:
    """Batches as lists of arrays, read again; None when that could disturb the run."""
    arrays = context.data.arrays
    if arrays:
        return lambda: (
            [array[start : start + _ROWS] for array in arrays] for start in range(0, len(arrays[0]), _ROWS)
        )
    dataset = context.data.dataset
    if dataset is None or tfdata_graph.is_python_fed(dataset):
        return None
    ops = [str(node.get("op", "")).lower() for node in tfdata_graph.describe(dataset)]
    if any(word in op for op in ops for word in _WRITES):
        return None
    if not weights_broken and not all(op in _WITHOUT_STATE for op in ops):
        return None  # a shuffle draws a new seed for each reader, and a function may draw from a generator
    return lambda: _drawn(dataset)


def _drawn(dataset: Any) -> Iterable[list[Any]]:
    import tensorflow as tf

    with tf.device("CPU:0"):
        for element in dataset:
            yield [leaf.numpy() for leaf in tf.nest.flatten(element) if hasattr(leaf, "numpy")]


def _search(context: ProbeContext, source: Callable[[], Iterable[list[Any]]], stop: threading.Event) -> None:
    until = time.monotonic() + _BUDGET_S
    of_arrays = bool(context.data.arrays)
    known, typical = BoxColumns(), TypicalValues()
    far: BatchSeen | None = None
    for arrays in itertools.islice(source(), _BATCHES_TO_KNOW):
        known.learn(arrays)
        typical.learn(arrays)
    for number, arrays in enumerate(source(), start=1):
        judged = [judge(array, index, known) for index, array in enumerate(arrays)]
        parts = [part for part in judged if part is not None]
        for part in parts if of_arrays else ():
            if "row" in part:
                part["sample"] = (number - 1) * _ROWS + int(part["row"])
        if parts:
            context.record(
                BatchSeen(
                    role="train", step=number, parts=[{**part, "found": "afterwards"} for part in parts]
                )
            )
            if not of_arrays and any(part.get("finite") is False for part in parts):
                stored_values.of_dataset(context, context.data.dataset)
            return
        far = far or _outliers(typical, arrays, number, of_arrays)
        if stop.is_set() or time.monotonic() > until:
            break
    if far is not None:
        context.record(far)


def _outliers(typical: TypicalValues, arrays: list[Any], number: int, of_arrays: bool) -> BatchSeen | None:
    outliers = [typical.outlier(array, index) for index, array in enumerate(arrays)]
    parts = [part for part in outliers if part is not None]
    for part in parts if of_arrays else ():
        part["sample"] = (number - 1) * _ROWS + int(part["row"])
    marked = [{**part, "found": "afterwards"} for part in parts]
    return BatchSeen(role="train", step=number, parts=marked) if marked else None
