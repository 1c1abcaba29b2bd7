"""A batch of what feeds a fit, taken where that cannot change the run.

Python code that feeds a fit is observed on its way. A batch of tf.data never passes through Python in `fit` on
TensorFlow, and another iterator would take numbers from a shuffle's seeds: one is made when the process ends. Of a fit
that learned nothing more batches are drawn then, to see whether the labels depend on the inputs.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..runtime.context import ProbeContext
from ..runtime.hidden_thread import HiddenThread
from ..runtime.nested_values import leaves
from ..runtime.weak_references import weak
from ..state import tfdata_graph
from .drawn_rows import DrawnRows

if TYPE_CHECKING:
    from .learning_observer import LearningObserver

PART = "dataset_samples"
_LIGHT_BYTES = 64 << 20  # a dataset whose tensors are smaller may be kept until the end
_MOST_SECONDS = 2.0  # that the first batch of the last epoch took
_LONGEST_S = 5.0  # that the end of the process waits for a batch: what feeds it may be gone by now
_MOST_BATCHES = 40  # of a fit that learned nothing


class DatasetSamples:
    def __init__(self, context: ProbeContext, observer: LearningObserver) -> None:
        self._context = context
        self._observer = observer
        self._dataset: Any = None
        self._waits = False
        self.first_batch_s: float | None = None  # of the last epoch of the newest fit
        self.learned_nothing = False  # in that fit

    def forget(self) -> None:
        """Another fit begins: what was kept for the end fed an earlier one."""
        self._dataset = None
        self.learned_nothing = False

    def fit_ended(self, first_batch_s: float | None, learned_nothing: bool) -> None:
        """A dataset that is a local variable would be gone when the process ends: one that is small is kept."""
        self.first_batch_s, self.learned_nothing = first_batch_s, learned_nothing
        dataset = self._dataset() if self._dataset is not None and learned_nothing else None
        if dataset is not None and _all_bytes(dataset) <= _LIGHT_BYTES:
            self._dataset = lambda: dataset

    def adapter_chosen(self, adapter: Any) -> None:
        """Keras has chosen how it reads what `fit` was given."""
        if self._observer.awaits_batch:
            self._context.guard(PART, self._look_at, adapter)

    def _look_at(self, adapter: Any) -> None:
        kind = type(adapter).__name__
        if kind == "GeneratorDataAdapter":
            peeked = getattr(adapter, "_first_batches", None) or []
            if peeked:
                self._observer.batch_fetched(peeked[0])
        elif kind == "PyDatasetAdapter":
            self._watch_standardised(adapter)
        elif kind == "TFDatasetAdapter":
            self._dataset_given(adapter._dataset)
        elif kind == "TorchDataLoaderAdapter":
            tensors = getattr(getattr(adapter._dataloader, "dataset", None), "tensors", None)
            if isinstance(tensors, tuple):
                self._observer.batch_fetched(tensors, step=0)

    def handler_made(self, handler: Any) -> None:
        """The same in Keras 2."""
        if self._observer.awaits_batch:
            self._context.guard(PART, self._dataset_given, handler._dataset)

    def _watch_standardised(self, adapter: Any) -> None:
        """Until its first batch; then the adapter has its own method again."""
        original = adapter._standardize_batch

        def observed(batch: Any) -> Any:
            result = original(batch)
            adapter.__dict__.pop("_standardize_batch", None)
            self._observer.batch_fetched(result)
            return result

        adapter._standardize_batch = observed

    def _dataset_given(self, dataset: Any) -> None:
        if self._dataset is not None:  # what trains comes first; this one validates
            return
        if self._sample_tensors(dataset):
            return
        light = _bytes(dataset) <= _LIGHT_BYTES
        self._dataset = (lambda: dataset) if light else weak(dataset)
        if not self._waits:
            self._waits = True
            self._context.at_exit.append(self._at_exit)

    def _sample_tensors(self, dataset: Any) -> bool:
        """Of tensors in memory that reach the model as they are: no function is between."""
        if not tfdata_graph.passes_tensors_on(tfdata_graph.describe(dataset)):
            return False
        source = tfdata_graph.walk(dataset)[0]
        spec, tensors = source.element_spec, list(getattr(source, "_tensors", None) or [])
        if not isinstance(spec, tuple) or len(leaves(spec)) != len(tensors):
            return False
        parts, place = [], 0
        for part in spec:
            count = len(leaves(part))
            parts.append(tensors[place : place + count])
            place += count
        self._observer.batch_fetched(tuple(parts), step=0)
        return True

    def _at_exit(self) -> None:
        self._context.guard(PART, self._draw)

    def _draw(self) -> None:
        """One batch, of a training that ended by itself and whose batches come fast."""
        dataset = self._dataset() if self._dataset is not None else None
        self._dataset = None
        slow = (self.first_batch_s or 0.0) > _MOST_SECONDS
        if dataset is None or slow or getattr(sys, "last_value", None) is not None:
            return
        if tfdata_graph.is_python_fed(dataset):
            return
        drawn: list[Any] = []
        rows = DrawnRows()

        def draw() -> None:
            for element in dataset.take(_MOST_BATCHES if self.learned_nothing else 1):
                drawn.extend([] if drawn else [element])
                if rows.add(element):
                    return

        HiddenThread(draw).join(_LONGEST_S)
        for element in drawn:
            self._observer.awaits_batch = True
            self._observer.batch_fetched(element)
        if self.learned_nothing:
            self._observer.record_dependence(rows)


def _all_bytes(dataset: Any) -> int:
    """Of all elements together; more than may be kept where that is not known."""
    count, rows = int(dataset.cardinality()), tfdata_graph.batch_size_of(dataset)
    each = 0
    for spec in leaves(dataset.element_spec):
        size = int(spec.dtype.size)
        for side in spec.shape:
            size *= int((rows if side is None else side) or _LIGHT_BYTES)
        each += size
    return count * each if count > 0 and each else _LIGHT_BYTES + 1


def _bytes(dataset: Any) -> int:
    nodes = tfdata_graph.walk(dataset)
    if any(tfdata_graph.kind_of(node) == "cache" for node in nodes):
        return _LIGHT_BYTES + 1
    tensors = [tensor for node in nodes for tensor in (getattr(node, "_tensors", None) or [])]
    return sum(tfdata_graph.tensor_bytes(tensor) for tensor in tensors)
