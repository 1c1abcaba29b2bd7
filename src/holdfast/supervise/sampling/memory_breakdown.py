"""The block that `holdfast run` prints after the first steps: what the peak is made of, what would still fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.journal.events import DatasetSeen, Event, FitStarted, FootprintMeasured
from holdfast.supervise.end_summary import size as in_words

_MAX_BATCH_FACTOR = 4  # a line through one point is not drawn further


class MemoryReport:
    """Fed with what the process tells; answers with the block, once."""

    def __init__(self) -> None:
        self._batch: int | None = None
        self._batch_bytes: int | None = None

    def take(self, event: Event, *, free_bytes: Callable[[], int | None]) -> str:
        """The block when the event is the one that it is made of, else nothing."""
        if isinstance(event, FitStarted) and event.batch_size:
            self._batch = event.batch_size
        if isinstance(event, DatasetSeen) and event.role == "train":
            self._batch_bytes = event.element_bytes
            self._batch = self._batch or batch_size_of_spec(event.element_spec)
        if isinstance(event, FootprintMeasured):
            return render_block(event, self._batch, self._batch_bytes, free_bytes())
        return ""


def batch_size_of_spec(spec: Any) -> int | None:
    """The first side of the first shape in an element's spec: the batch, where it is known."""
    while isinstance(spec, list) and spec:
        if isinstance(spec[0], int):
            return int(spec[0]) if spec[0] > 0 else None
        spec = spec[0]
    return None


def render_block(
    measured: FootprintMeasured, batch: int | None, batch_bytes: int | None, free_bytes: int | None
) -> str:
    on_card = bool(measured.gpu_peak_bytes)
    peak = measured.gpu_peak_bytes or measured.host_peak_bytes
    if not peak:
        return ""
    known = [
        ("weights", measured.weights_bytes),
        ("gradients", measured.gradients_bytes),
        ("optimizer", measured.optimizer_bytes),
        ("one batch", batch_bytes or 0),
    ]
    rest = peak - sum(size for _, size in known)
    what = "activations, temporaries and workspace" if on_card else "framework, data pipeline, activations"
    where = "the card" if on_card else "the process"
    lines = [f"holdfast: memory of {where} after the first steps: {in_words(peak)} at the highest"]
    lines += [f"  {in_words(size):>9}  {name}" for name, size in known if size]
    lines.append(f"  {in_words(max(0, rest)):>9}  {what}")
    limit = measured.gpu_limit_bytes if on_card else None
    room = limit - peak if limit else (None if on_card else free_bytes)
    return "\n".join([*lines, *_larger_batch_lines(room, max(0, rest), batch, on_card)])


def _larger_batch_lines(room: int | None, rest: int, batch: int | None, on_card: bool) -> list[str]:
    """How much more batch there is room for, were all of the rest to grow with it: a guess on the safe side.

    Of a process much of the rest is the framework's, which does not grow.
    """
    if room is None:
        return []
    said = f"  {in_words(max(0, room)):>9}  still free"
    if not batch or rest <= 0 or room <= 0:
        return [said]
    larger = batch + int(room * 0.9 * batch / rest)
    if larger >= _MAX_BATCH_FACTOR * batch:
        return [
            f"{said}: {_MAX_BATCH_FACTOR} times the batch of {batch} would fit; it is not memory that bounds it"
        ]
    about = f"about {larger}" if on_card else f"{larger} or more"
    return [f"{said}: a batch of {about} instead of {batch} would fit"] if larger > batch else [said]
