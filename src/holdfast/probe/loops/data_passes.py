"""Passes over the data in a loop of the user's own, which has no epochs: from a new iterator to the next one."""

from __future__ import annotations

import time
from typing import NamedTuple

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


class _Empty(NamedTuple):
    """Passes that gave nothing."""

    passes: int
    step: int  # at the newest of them
    dataset: int | None


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
        self._trained: dict[
            int | str, int
        ] = {}  # passes with steps, by the dataset's number and the loop's line
        self._known: set[int] = set()  # numbers of datasets that were gone through
        self._empty_later: dict[str, _Empty] = {}  # by the line that asked

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
            if stepped:
                self._count(dataset)
            if self._ends > 1:
                return False
            if not self._drawn:
                return self._empty_after_steps(dataset)
            self._gave_something(dataset)
            return False
        if not self._drawn:
            self.empty += 1
            if self.empty & (self.empty - 1) == 0:  # at each doubling
                self._context.record(EmptyPassSeen(passes=self.empty, where=user_lines.caller_line()))
        return False

    def _count(self, dataset: int | None) -> None:
        marks = {dataset} if dataset in self._trained else self._marks(dataset)
        for mark in marks:
            if mark in self._trained or len(self._trained) < _MAX_TRAINED:
                self._trained[mark] = self._trained.get(mark, 0) + 1

    def _marks(self, dataset: int | None) -> set[int | str]:
        """A pipeline may be made again for each pass: then the loop over it is the same."""
        loop = loop_bounds.line_of_loop(user_lines.caller())
        return {mark for mark in (dataset, loop) if mark}

    def _empty_after_steps(self, dataset: int | None) -> bool:
        where, step = user_lines.caller_line(), self._context.heartbeat.step
        trained = max([self._trained.get(mark, 0) for mark in self._marks(dataset)], default=0)
        before = self._empty_later.get(where, _Empty(0, step, dataset))
        passes = 1 if trained and before.step != step else before.passes + 1
        if where in self._empty_later or len(self._empty_later) < _MAX_HEADS:
            self._empty_later[where] = _Empty(passes, step, dataset)
            if passes & (passes - 1) == 0:
                self._context.record(LaterPassEmpty(passes=passes, step=step, trained=trained, where=where))
        return not trained

    def _gave_something(self, dataset: int | None) -> None:
        """After passes that gave nothing, at the same line: of that dataset, or of a new one. A function may go
        through several."""
        known = dataset in self._known
        if dataset is not None and len(self._known) < _MAX_TRAINED:
            self._known.add(dataset)
        where = user_lines.caller_line() if self._empty_later else ""
        empty = self._empty_later.get(where)
        if empty is not None and (not known or empty.dataset == dataset):
            del self._empty_later[where]
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
