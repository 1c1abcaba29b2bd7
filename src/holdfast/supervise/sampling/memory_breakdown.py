"""The block that `holdfast run` prints after the first steps: what the peak is made of, what would still fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.journal.events import DatasetSeen, Event, FitStarted, FootprintMeasured
from holdfast.units import size

_MAX_BATCH_FACTOR = 4  # one measurement is not extrapolated further


class MemoryReport:
    """Updated with the events of the process; returns the block once."""

    def __init__(self) -> None:
        self._batch: int | None = None
        self._batch_bytes: int | None = None

    def update(self, event: Event, *, free_bytes: Callable[[], int | None]) -> str:
        """The block when the event is the measurement, else nothing."""
        if isinstance(event, FitStarted) and event.batch_size:
            self._batch = event.batch_size
        if isinstance(event, DatasetSeen) and event.role == "train":
            self._batch_bytes = event.element_bytes
            self._batch = self._batch or batch_size_of_spec(event.element_spec)
        if isinstance(event, FootprintMeasured):
            return render_block(event, self._batch, self._batch_bytes, free_bytes())
        return ""


def batch_size_of_spec(spec: Any) -> int | None:
    """The first dimension of the first shape in an element's spec: the batch size, where it is known."""
    while isinstance(spec, list) and spec:
        if isinstance(spec[0], int):
            return int(spec[0]) if spec[0] > 0 else None
        spec = spec[0]
    return None


def render_block(
    measured: FootprintMeasured, batch: int | None, batch_bytes: int | None, free_bytes: int | None
) -> str:
    on_gpu = bool(measured.gpu_peak_bytes)
    peak = measured.gpu_peak_bytes or measured.host_peak_bytes
    if not peak:
        return ""
    known = [
        ("weights", measured.weights_bytes),
        ("gradients", measured.gradients_bytes),
        ("optimizer", measured.optimizer_bytes),
        ("one batch", batch_bytes or 0),
    ]
    rest = peak - sum(part_bytes for _, part_bytes in known)
    what = "activations, temporaries and workspace" if on_gpu else "framework, data pipeline, activations"
    where = "GPU memory" if on_gpu else "process memory"
    lines = [f"holdfast: {where} after the first steps: peak {size(peak)}"]
    lines += [f"  {size(part_bytes):>9}  {name}" for name, part_bytes in known if part_bytes]
    lines.append(f"  {size(max(0, rest)):>9}  {what}")
    limit = measured.gpu_limit_bytes if on_gpu else None
    headroom = limit - peak if limit else (None if on_gpu else free_bytes)
    return "\n".join([*lines, *_larger_batch_lines(headroom, max(0, rest), batch, on_gpu)])


def _larger_batch_lines(headroom: int | None, rest: int, batch: int | None, on_gpu: bool) -> list[str]:
    """How large a batch would fit, if all of the rest grew with it: a conservative estimate.

    On a CPU much of the rest is the framework's, which does not grow.
    """
    if headroom is None:
        return []
    free = f"  {size(max(0, headroom)):>9}  still free"
    if not batch or rest <= 0 or headroom <= 0:
        return [free]
    larger = batch + int(headroom * 0.9 * batch / rest)
    if larger >= _MAX_BATCH_FACTOR * batch:
        return [f"{free}: {_MAX_BATCH_FACTOR} times the batch of {batch} would fit; memory is not the limit"]
    about = f"about {larger}" if on_gpu else f"{larger} or more"
    return [f"{free}: a batch of {about} instead of {batch} would fit"] if larger > batch else [free]
