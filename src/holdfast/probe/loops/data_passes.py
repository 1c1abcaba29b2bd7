"""Passes over the data in a loop of the user's own, which has no epochs: from a new iterator to the next one."""

from __future__ import annotations

import time

from ...journal.events import EmptyPassSeen, ExhaustedIteratorUsed, PassDone
from ..runtime import user_lines
from ..runtime.context import ProbeContext

_FEWEST_STEPS = 3  # a loop that makes an iterator for every step makes no passes
_MAX_RECORDED = 1000


class DataPasses:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._recorded = 0
        self._began_ns = self._first_ns = self._last_ns = self._steps = 0
        self._drawn = 0
        self._ends = 0  # how often this iterator was asked again after its end
        self._empty = 0  # passes that gave nothing

    def begins(self) -> None:
        """A new iterator is asked for its first element. What came before is over."""
        self.over()
        self._began_ns = time.perf_counter_ns()
        self._drawn = self._ends = 0

    def drew(self) -> None:
        self._drawn += 1

    def exhausted(self) -> None:
        """The iterator has no more. One that never had any is recorded, as long as nothing has been trained."""
        self.over()
        self._ends += 1
        if self._context.heartbeat.step:
            if self._ends > 1 and self._ends & (self._ends - 1) == 0:
                self._context.record(
                    ExhaustedIteratorUsed(times=self._ends - 1, where=user_lines.caller_line())
                )
            return
        if self._drawn:
            return
        self._empty += 1
        if self._empty & (self._empty - 1) == 0:  # at each doubling
            self._context.record(EmptyPassSeen(passes=self._empty, where=user_lines.caller_line()))

    def stepped(self) -> None:
        self._last_ns = time.perf_counter_ns()
        self._steps += 1
        if self._steps == 1:
            self._first_ns = self._last_ns

    def over(self) -> None:
        steps, self._steps = self._steps, 0
        if steps < _FEWEST_STEPS or not self._began_ns or self._recorded >= _MAX_RECORDED:
            return
        self._recorded += 1
        self._context.record(
            PassDone(
                number=self._recorded,
                steps=steps,
                duration_s=round((self._last_ns - self._began_ns) / 1e9, 3),
                first_step_s=round((self._first_ns - self._began_ns) / 1e9, 3),
            )
        )
