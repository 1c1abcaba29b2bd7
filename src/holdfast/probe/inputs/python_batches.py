"""Batches that Python code gives to `fit`: a PyDataset, a generator. The first one that is not finite is recorded,
before the network sees it.

Looking takes little time: the first batches are all looked at, later ones as long as that costs a small share.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from ...journal.events import BatchSeen
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.nested_values import leaves
from ..runtime.wrapping import observe
from .box_checks import BoxColumns, judge

PART = "python_batches"
_ALWAYS_FIRST = 50
_SHARE = 0.005  # of the time, that looking may take


class PythonBatches:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._seen = 0
        self._found = False
        self._not_before_ns = 0

    def given(self, batch: Any, loader: Any = None) -> None:
        """Of training or of validation; only one that the training sees can break it."""
        begun = time.perf_counter_ns()
        self._seen += 1
        if self._found or (self._seen > _ALWAYS_FIRST and begun < self._not_before_ns):
            return
        for place, leaf in enumerate(leaves(batch)):
            if not _finite(leaf):
                self._context.inputs.loader_seen(loader)
                self._record(leaf, place)
                break
        self._not_before_ns = begun + int((time.perf_counter_ns() - begun) / _SHARE)

    def _record(self, leaf: Any, place: int) -> None:
        self._found = True
        part = judge(leaf, place, BoxColumns())
        if part is not None:
            heartbeat = self._context.heartbeat
            self._context.record(BatchSeen(role="train", step=heartbeat.step + 1, parts=[part]))
            self._context.inputs.look_at_stored_values()


def _finite(leaf: Any) -> bool:
    """The sum of all values is finite where they are, but for an overflow, which is looked at again."""
    import numpy as np

    if not isinstance(leaf, np.ndarray) or leaf.dtype.kind != "f":
        return True
    with np.errstate(all="ignore"):
        return bool(np.isfinite(leaf.sum(dtype="float64"))) or bool(np.isfinite(leaf).all())


def hook_py_dataset(context: ProbeContext, module: Any) -> None:
    observe(
        context, module.PyDatasetAdapter, "_standardize_batch", PART,
        before=lambda args, kwargs: getattr(args[0], "py_dataset", None),
        after=lambda loader, batch: context.inputs.python_batches.given(batch, loader),
    )  # fmt: skip


def hook_generator(context: ProbeContext, module: Any) -> None:
    observe(
        context, module.GeneratorDataAdapter, "__init__", PART,
        before=lambda args, kwargs: args[0],
        after=lambda adapter, _: _watch(context, adapter),
    )  # fmt: skip


def _watch(context: ProbeContext, adapter: Any) -> None:
    """`generator` gives a new iterator over the batches at each call."""
    original = adapter.generator

    def watched() -> Iterator[Any]:
        for batch in original():
            context.guard(PART, context.inputs.python_batches.given, batch)
            yield batch

    watched.__wrapped__ = original  # type: ignore[attr-defined]  # what describes the input looks there
    adapter.generator = watched


KERAS_HOOKS = (
    Hook(PART, "keras.src.trainers.data_adapters.py_dataset_adapter", hook_py_dataset),
    Hook(PART, "keras.src.trainers.data_adapters.generator_data_adapter", hook_generator),
)
