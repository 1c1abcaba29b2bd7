"""Losses of torch on a GPU, without waiting for it: each is copied to host memory behind the computation, and read when
the copy is over, at a later step or at the end.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ..runtime import torch_values
from ..runtime.context import ProbeContext

PART = "gpu_losses"
_ALWAYS_FIRST = 64  # steps whose loss is copied
_EVERY_S = 0.05  # later
_MOST_UNDER_WAY = 64
_END_WAIT_S = 1.0  # for copies behind a computation that may never end


class GpuLosses:
    def __init__(self, context: ProbeContext, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._context, self._now = context, monotonic
        self.new_run()

    def new_run(self) -> None:
        self._under_way: deque[tuple[int, Any, Any]] = deque()  # step, place in host memory, end of the copy
        self._places: dict[str, list[Any]] = {}  # free ones, by their type
        self._not_before = 0.0
        self._waits_for_exit = False

    def stepped(self, step: int, loss: Any) -> None:
        """In the thread that trains, right after the optimizer's step."""
        self.read_finished()
        now = self._now()
        if (step > _ALWAYS_FIRST and now < self._not_before) or len(self._under_way) >= _MOST_UNDER_WAY:
            return
        if torch_values.is_recorded():
            return
        self._not_before = now + _EVERY_S
        torch: Any = sys.modules["torch"]
        free = self._places.setdefault(str(loss.dtype), [])
        place = free.pop() if free else torch.empty((), dtype=loss.dtype, device="cpu", pin_memory=True)
        place.copy_(loss.reshape(()), non_blocking=True)
        copied = torch.cuda.Event()
        copied.record(torch.cuda.current_stream(loss.device))
        self._under_way.append((step, place, copied))
        if not self._waits_for_exit:
            self._waits_for_exit = True
            self._context.at_exit.insert(0, self._read_all)  # before the newest losses are written

    def read_finished(self) -> None:
        while self._under_way and self._under_way[0][2].query():
            step, place, _ = self._under_way.popleft()
            context = self._context
            context.losses.loop_step(context.loop.model(), {"loss": float(place)}, step=step)
            self._places.setdefault(str(place.dtype), []).append(place)

    def _read_all(self) -> None:
        until = self._now() + _END_WAIT_S
        self.read_finished()
        while self._under_way and self._now() < until:
            time.sleep(0.01)
            self.read_finished()
