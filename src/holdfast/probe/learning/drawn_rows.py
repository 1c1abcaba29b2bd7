"""Rows of inputs with their labels, to see whether the labels depend on the inputs: of a table or of images."""

from __future__ import annotations

import hashlib
from typing import Any

from ...journal.events import DependenceSeen
from ..runtime import blas_threads
from . import value_samples
from .image_dependence import ImageRows, is_images

_OF_A_BATCH, _MOST_ROWS = 64, 1_000
_MOST_COLUMNS = 1_000
_MOST_BYTES = 8 << 20
#: Rows that are compared with those of later batches, the size of one, and of its label.
_MOST_COMPARED, _MOST_ROW_BYTES, _LABEL_BYTES = 4_000, 65_536, 256
_ALIKE = 0.02  # of all rows, those that come twice in one batch


class TableRows:
    def __init__(self) -> None:
        self._inputs: list[Any] = []
        self._targets: list[Any] = []
        self._rows = self._bytes = 0
        self._label_of: dict[bytes, bytes] = {}  # of each row that came, by what is in it
        self._again = self._relabelled = self._twice = 0

    @property
    def full(self) -> bool:
        return self._rows >= _MOST_ROWS or self._bytes > _MOST_BYTES

    def add(self, inputs: Any, targets: Any) -> None:
        """Copies of the first rows of a batch; of wide rows none, whose distances say little."""
        if inputs is None or targets is None or not inputs.ndim or not targets.ndim:
            return
        if len(inputs) != len(targets) or not len(inputs):
            return
        self._compare(inputs, targets)
        if self.full:
            return
        if inputs[:1].size > _MOST_COLUMNS or targets[:1].size > _MOST_COLUMNS:
            return
        if self._inputs and self._inputs[0].shape[1:] != inputs.shape[1:]:
            return
        if self._targets and self._targets[0].shape[1:] != targets.shape[1:]:
            return
        self._inputs.append(inputs[:_OF_A_BATCH].copy())
        self._targets.append(targets[:_OF_A_BATCH].copy())
        self._rows += len(self._inputs[-1])
        self._bytes += int(self._inputs[-1].nbytes + self._targets[-1].nbytes)

    def _compare(self, inputs: Any, targets: Any) -> None:
        """Rows that came before, in another epoch: each has the label that it had, or inputs and labels were shuffled
        apart from each other."""
        fits = 1 < inputs[:1].size * inputs.itemsize <= _MOST_ROW_BYTES
        if len(self._label_of) > _MOST_COMPARED or not fits:
            return
        new: dict[bytes, bytes] = {}
        for row, target in zip(inputs[:_OF_A_BATCH], targets[:_OF_A_BATCH]):
            key = hashlib.blake2b(row.tobytes(), digest_size=12).digest()
            label = target.tobytes()[:_LABEL_BYTES]
            self._twice += key in new
            before = self._label_of.get(key)
            if before is not None:
                self._again += 1
                self._relabelled += before != label
            new[key] = label
        self._label_of.update(new)

    def dependence(self) -> Any:
        """Of rows that differ: one that came twice, in two epochs, would be its own neighbour."""
        import numpy as np

        if not self._inputs:
            return None
        # Else many rows are alike: of a few categories.
        alone = self._twice <= _ALIKE * max(1, len(self._label_of))
        inputs, targets = np.concatenate(self._inputs), np.concatenate(self._targets)
        _, first = np.unique(inputs.reshape(len(inputs), -1), axis=0, return_index=True)
        seen = value_samples.dependence(inputs[np.sort(first)], targets[np.sort(first)])
        if seen is None or not alone:
            return seen
        return seen.changed(rows_again=self._again, relabelled=self._relabelled)


class DrawnRows:
    def __init__(self) -> None:
        self._table = TableRows()
        self._images = ImageRows()

    def add(self, element: Any) -> bool:
        """A batch of inputs and targets. True when there are enough, or none that it can use."""
        if not isinstance(element, tuple) or len(element) < 2:
            return True
        inputs, targets = (value_samples.as_array(part) for part in element[:2])
        return inputs is None or targets is None or self.add_arrays(inputs, targets)

    def add_arrays(self, inputs: Any, targets: Any) -> bool:
        if isinstance(targets, dict) or isinstance(inputs, dict):
            return True
        self._table.add(inputs, targets)
        if is_images(inputs):
            self._images.add(inputs, targets)
            return self._images.full
        return self._table.full

    def dependence(self, fit: int | None) -> DependenceSeen | None:
        with blas_threads.one_thread():
            return self._dependence(fit)

    def _dependence(self, fit: int | None) -> DependenceSeen | None:
        seen: DependenceSeen | None = self._table.dependence()
        if self._images.rows and not (seen is not None and seen.relabelled):
            return self._images.dependence(fit)
        return seen.changed(fit=fit) if seen is not None else None
