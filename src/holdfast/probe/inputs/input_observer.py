"""What the rest of the probe asks of this package. Each method is guarded as the part that does it."""

from __future__ import annotations

from typing import Any

from ..runtime.context import ProbeContext
from . import (
    bad_files,
    batch_statistics,
    current_batch,
    datasets,
    ignored_errors,
    nonfinite_search,
    record_boxes,
)


class InputObserver:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.datasets = datasets.DatasetLog(context)
        self.new_run()

    def new_run(self) -> None:
        self.datasets.new_run()
        self._batches = batch_statistics.BatchStatistics(self._context)
        self._current = current_batch.CurrentBatch(self._context)
        self._search = nonfinite_search.NonfiniteSearch(self._context)
        self._ignored = ignored_errors.IgnoredErrors(self._context)

    def batch_fetched(self, element: Any, step: int) -> None:
        """A training batch passes through Python, on its way to this step."""
        self._context.guard(batch_statistics.PART, self._batches.fetched, element, step)
        self._context.learning.batch_fetched(element, step)

    def loop_batch_fetched(self, element: Any) -> None:
        """The batch of the step that comes next, of a loop of the user's own."""
        self._context.guard(current_batch.PART, self._current.fetched, element)

    def loop_iterates(self, iterator: Any, role: str, where: str) -> None:
        """A loop of the user's own draws from it."""
        self._context.guard(datasets.PART, self.datasets.loop_iterates, iterator, role, where)

    def loss_jumped(self) -> None:
        self._context.guard(current_batch.PART, self._current.loss_jumped)

    def search_nonfinite(self, *, weights_broken: bool) -> None:
        """A loss, a weight or a gradient is not finite: was it the data?"""
        if self._search.started:
            return
        if self._context.guard(current_batch.PART, self._current.record_faults):
            self._search.started = True
            return
        self._context.guard(nonfinite_search.PART, self._search.start, weights_broken)

    def search_bad_files(self, error: BaseException) -> None:
        """An exception has left a fit or a loader: does it come from one of the dataset's files?"""
        self._context.guard(bad_files.PART, bad_files.search, self._context, error)
        self._context.guard(record_boxes.PART, record_boxes.search, self._context, error)

    def check_ignored_errors(self, dataset: Any, described: list[dict[str, Any]]) -> None:
        self._context.guard(ignored_errors.PART, self._ignored.watch, dataset, described)
