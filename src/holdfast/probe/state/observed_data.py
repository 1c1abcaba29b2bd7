"""What feeds the training: referred to weakly, so that the probe keeps no data of the user's alive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..runtime.weak_references import weak


class ObservedData:
    def __init__(self) -> None:
        self.counted = False  # tf.data's own counters are read, which know waiting for data from computing
        self.new_run()

    def new_run(self) -> None:
        self.validation_batches: int | None = None  # planned, of the validation that comes next
        self._dataset: Callable[[], Any] = lambda: None
        self._arrays: list[Callable[[], Any]] = []

    def is_dataset(self, dataset: Any) -> None:
        self._dataset = weak(dataset)
        self._arrays = []

    def is_arrays(self, arrays: list[Any]) -> None:
        self._arrays = [weak(array) for array in arrays]

    @property
    def dataset(self) -> Any:
        """The tf.data dataset; None when there is none, or it is gone."""
        return self._dataset()

    @property
    def arrays(self) -> list[Any]:
        """Those that are still there."""
        arrays = [reference() for reference in self._arrays]
        return [array for array in arrays if array is not None]

    @property
    def has_all_arrays(self) -> bool:
        return bool(self._arrays) and len(self.arrays) == len(self._arrays)
