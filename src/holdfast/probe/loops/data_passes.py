"""Passes over the data in a loop of the user's own, which has no epochs: from a new iterator to the next one."""

from __future__ import annotations

import time

from ...journal.events import DataOnlyLoopSeen, EmptyPassSeen, ExhaustedIteratorUsed, PassDone
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..state import loop_source

_FEWEST_STEPS = 3  # a loop that makes an iterator for every step makes no passes
_MAX_RECORDED = 1000
_MAX_HEADS = 20  # loops over data whose source is read
#: Batches of another dataset than the trained one before they are no longer taken for the next step's. Chosen:
#: gradients are seldom gathered over so many.
_PER_STEP = 50


class DataPasses:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._recorded = 0
        self._began_ns = self._first_ns = self._last_ns = self._steps = 0
        self._drawn = 0
        self._ends = 0  # how often this iterator was asked again after its end
        self.empty = 0  # passes that gave nothing
        self._heads: dict[str, bool] = {}  # by its line: whether nothing but the data's end ends a loop
        self._head = ""  # the line of the loop over the newest iterator, if that is so

    def begins(self) -> None:
        """A new iterator is asked for its first element. What came before is over."""
        self.over()
        self._began_ns = time.perf_counter_ns()
        self._drawn = self._ends = 0
        self._head = ""

    def read_head(self) -> None:
        """Of the loop that has just begun, after training did."""
        frame = user_lines.caller()
        where = user_lines.of_frame(frame)
        if frame is not None and where not in self._heads and len(self._heads) < _MAX_HEADS:
            self._heads[where] = loop_source.never_left(frame, alone=True)
        self._head = where if self._heads.get(where) else ""

    def record_head(self) -> None:
        """What it draws is not trained on."""
        if self._head:
            self._heads[self._head] = False  # once
            self._context.record(DataOnlyLoopSeen(where=self._head, role="validation"))

    @property
    def batches(self) -> int:
        return self._drawn

    def without_steps(self) -> bool:
        """So many batches that it is no step that gathers them."""
        return not self._steps and self._drawn >= _PER_STEP

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
        self.empty += 1
        if self.empty & (self.empty - 1) == 0:  # at each doubling
            self._context.record(EmptyPassSeen(passes=self.empty, where=user_lines.caller_line()))

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
