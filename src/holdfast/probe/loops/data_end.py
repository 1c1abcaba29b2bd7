"""Data that ends before the loop does: an iterator that runs out while its loop has rounds to go.

The script takes the end of the data for the end of the training, or goes through rounds that train nothing. What is
noticed is recorded when the process ends, and only if no step came after it.
"""

from __future__ import annotations

import ast
from types import FrameType

from ...journal.events import DataRanOut, LoopPlanned, payload
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..state import loop_bounds, one_shots

PART = "data_end"
_MAX_FRAMES = 4


class DataEnd:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._ended: DataRanOut | None = None
        self._one_shot: one_shots.OneShot | None = None
        self._first_step = False

    # -- the first step -----------------------------------------------------------------------------------

    def first_step(self) -> None:
        """The loops around it, and a generator or the like that feeds it."""
        self._context.at_exit.append(self.report_at_exit)
        frame = user_lines.caller()
        frames: list[one_shots.Around] = []
        for _ in range(_MAX_FRAMES):
            if frame is None:
                break
            names = loop_bounds.variables_of(frame)
            frames.append(one_shots.Around(loop_bounds.around(frame, names), names))
            frame = user_lines.caller(frame.f_back) if frame.f_back is not None else None
        self._one_shot = one_shots.feeding(frames)
        loops = [loop for one in frames[::-1] for loop in one.loops]
        if loops:
            self._record_plan(loops)

    def _record_plan(self, loops: list[loop_bounds.Bounded]) -> None:
        """A `while` counts up to its goal, wherever it is when the first step is done."""
        counts = [one.goal if one.kind == "while" else one.rounds for one in loops]
        steps = 1
        for count in counts:
            steps *= count if count is not None else 0
        described = [
            {"where": one.where, "kind": one.kind, "bound": one.bound, "count": count}
            for one, count in zip(loops, counts)
        ]
        self._context.record(LoopPlanned(loops=described, steps=steps or None))

    # -- an iterator of a framework's ------------------------------------------------------------------------

    def asked_in_vain(self) -> None:
        """An iterator that was trained on has ended, in whatever way the loop asks it."""
        frame = user_lines.caller()
        if frame is None:
            return
        loops = loop_bounds.around(frame)
        if not loops or loop_bounds.is_header(loops[-1].node, frame):
            return  # `for batch in iterator`: the end of the data is the end of that loop
        inner = loops[-1]
        now = _counter_now(inner, frame)
        if inner.goal is None or now is None or now + 1 >= inner.goal:
            return
        self._ended = DataRanOut(
            where=user_lines.of_frame(frame),
            step=self._context.heartbeat.step,
            planned=inner.goal - (inner.first or 0 if inner.kind == "range" else 0),
            bound=inner.bound,
        )

    # -- the end ---------------------------------------------------------------------------------------------

    def report_at_exit(self) -> None:
        step = self._context.heartbeat.step
        if self._ended is not None and self._ended.step == step:
            self._context.record(self._ended)
        elif self._one_shot is not None and self._one_shot.ended():
            end = self._one_shot.end
            if end.one_shot or step < (end.planned or 0):
                self._context.record(DataRanOut(**{**payload(end), "step": step}))


def _counter_now(loop: loop_bounds.Bounded, frame: FrameType) -> int | None:
    if loop.kind == "while":
        return loop.first
    target = loop.node.target if loop.kind == "range" else None
    if isinstance(target, ast.Tuple) and target.elts:  # enumerate(range(…))
        target = target.elts[-1]
    names = loop_bounds.variables_of(frame)
    return loop_bounds.value(target, names) if isinstance(target, ast.Name) else None
