"""What the rest of the probe asks of this package. Each method is guarded as the part that does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..runtime import hidden_thread
from ..runtime.context import ProbeContext
from ..runtime.weak_references import weak
from . import (
    bad_files,
    batch_statistics,
    current_batch,
    datasets,
    ignored_errors,
    nonfinite_search,
    python_batches,
    record_boxes,
    stored_values,
)

_LONGEST_S = 5.0  # that the end of a script waits


class InputObserver:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.datasets = datasets.DatasetLog(context)
        self.new_run()

    def new_run(self) -> None:
        self.datasets.new_run()
        self.python_batches = python_batches.PythonBatches(self._context)
        self._batches = batch_statistics.BatchStatistics(self._context)
        self._current = current_batch.CurrentBatch(self._context)
        self._search = nonfinite_search.NonfiniteSearch(self._context)
        self._ignored = ignored_errors.IgnoredErrors(self._context)
        self._looked = False
        self._loader: Callable[[], Any] = lambda: None  # of the user's own, that gives the batches

    def batch_fetched(self, element: Any, step: int) -> None:
        """A training batch passes through Python, on its way to this step."""
        self._context.guard(batch_statistics.PART, self._batches.fetched, element, step)
        self._context.learning.batch_fetched(element, step)

    def loop_batch_fetched(self, element: Any) -> None:
        """The batch of the step that comes next, of a loop of the user's own."""
        self._context.guard(current_batch.PART, self._current.fetched, element)

    def batch_broke(self, arrays: list[Any]) -> None:
        """The inputs of the step whose loss is not finite; they live only while it lasts."""
        if not self._context.guard(current_batch.PART, self._current.faults):  # of the batch with its targets
            self._context.guard(current_batch.PART, self._current.fetched, arrays)
            self._context.guard(current_batch.PART, self._current.record_faults)

    def loop_iterates(self, iterator: Any, role: str, where: str) -> None:
        """A loop of the user's own draws from it."""
        if role == "train":
            self.loader_seen(getattr(iterator, "_dataset", None))
        self._context.guard(datasets.PART, self.datasets.loop_iterates, iterator, role, where)

    def loader_seen(self, loader: Any) -> None:
        self._loader = weak(loader)

    def look_at_stored_values(self) -> None:
        """A batch is not finite: in a thread of its own, as it reads what the batches are made of."""
        loader = self._loader()
        if loader is None or self._looked:
            return
        self._looked = True
        look = stored_values.of_dataset if hasattr(loader, "element_spec") else stored_values.of_loader
        thread = hidden_thread.HiddenThread(
            self._context.guard, stored_values.PART, look, self._context, loader
        )
        self._context.at_exit.append(lambda: thread.join(_LONGEST_S))

    def loss_jumped(self) -> None:
        self._context.guard(current_batch.PART, self._current.loss_jumped)

    def search_nonfinite(self, *, weights_broken: bool) -> None:
        """A loss, a weight or a gradient is not finite: was it the data?"""
        if self._search.started:
            return
        faults = self._context.guard(current_batch.PART, self._current.record_faults)
        if faults:
            self._search.started = True
            if any(part.get("finite") is False for part in faults):
                self._context.guard(stored_values.PART, self.look_at_stored_values)
            return
        self._context.guard(nonfinite_search.PART, self._search.start, weights_broken)

    def search_bad_files(self, error: BaseException) -> None:
        """An exception has left a fit or a loader: does it come from one of the dataset's files?"""
        self._context.guard(bad_files.PART, bad_files.search, self._context, error)
        self._context.guard(record_boxes.PART, record_boxes.search, self._context, error)

    def check_ignored_errors(self, dataset: Any, described: list[dict[str, Any]]) -> None:
        self._context.guard(ignored_errors.PART, self._ignored.watch, dataset, described)
