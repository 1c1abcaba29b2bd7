"""Passes over the data in a loop of the user's own, which has no epochs: from a new iterator to the next one."""

from __future__ import annotations

import time

from ...journal.events import (
    DataOnlyLoopSeen,
    EmptyPassSeen,
    ExhaustedIteratorUsed,
    LaterPassEmpty,
    PassDone,
)
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..state import loop_bounds, loop_source

_FEWEST_STEPS = 3  # a loop that makes an iterator for every step makes no passes
_MAX_RECORDED = 1000
_MAX_HEADS = 20  # loops over data whose source is read
_MAX_TRAINED = 200  # datasets and loops that are known to be trained on
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
        self._trained: set[int | str] = set()  # the numbers of datasets, and lines of loops, that were trained on
        self._empty_later: dict[str, tuple[int, int]] = {}  # passes, and the step of the newest, by line

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

    def exhausted(self, dataset: int | None) -> bool:
        """The iterator has no more; whether it is a pass that gave nothing and is not trained on."""
        stepped = self._steps > 0
        self.over()
        self._ends += 1
        if self._context.heartbeat.step:
            if self._ends > 1 and self._ends & (self._ends - 1) == 0:
                self._context.record(
                    ExhaustedIteratorUsed(times=self._ends - 1, where=user_lines.caller_line())
                )
            if stepped and dataset not in self._trained and len(self._trained) < _MAX_TRAINED:
                self._trained |= self._marks(dataset)
            if self._ends == 1 and not self._drawn:
                return self._empty_after_steps(dataset)
            self._gave_after_all()
            return False
        if not self._drawn:
            self.empty += 1
            if self.empty & (self.empty - 1) == 0:  # at each doubling
                self._context.record(EmptyPassSeen(passes=self.empty, where=user_lines.caller_line()))
        return False

    def _marks(self, dataset: int | None) -> set[int | str]:
        """A pipeline may be made again for each pass: then the loop over it is the same."""
        loop = loop_bounds.line_of_loop(user_lines.caller())
        return {mark for mark in (dataset, loop) if mark}

    def _empty_after_steps(self, dataset: int | None) -> bool:
        where, step = user_lines.caller_line(), self._context.heartbeat.step
        trained = bool(self._trained & self._marks(dataset))
        before, then = self._empty_later.get(where, (0, step))
        passes = 1 if trained and then != step else before + 1
        if where in self._empty_later or len(self._empty_later) < _MAX_HEADS:
            self._empty_later[where] = passes, step
            if passes & (passes - 1) == 0:
                self._context.record(LaterPassEmpty(passes=passes, step=step, trained=trained, where=where))
        return not trained

    def _gave_after_all(self) -> None:
        where = user_lines.caller_line() if self._empty_later and self._drawn else ""
        if self._empty_later.pop(where, None) is not None:
            self._context.record(LaterPassEmpty(passes=0, step=self._context.heartbeat.step, where=where))

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
