"""Data that ends before the loop does: an iterator that runs out while its loop has rounds to go.

The script takes the end of the data for the end of the training, or goes through rounds that train nothing. What is
noticed is recorded when the process ends, and only if no step came after it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FrameType, GeneratorType
from typing import Any

from ...journal.events import DataRanOut, LoopPlanned, payload
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.weak_references import weak
from ..state import loop_bounds, loop_source

PART = "data_end"
_MAX_FRAMES = 4


class DataEnd:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._ended: DataRanOut | None = None
        self._generator: tuple[Callable[[], Any], DataRanOut] | None = None
        self._first_step = False

    # -- the first step -----------------------------------------------------------------------------------

    def first_step(self) -> None:
        """The loops around it, and a generator that feeds it."""
        self._context.at_exit.append(self.report_at_exit)
        frame = user_lines.caller()
        loops: list[loop_bounds.Bounded] = []
        for _ in range(_MAX_FRAMES):
            if frame is None:
                break
            names = loop_bounds.variables_of(frame)
            own = loop_bounds.around(frame, names)
            self._look_for_generator(own, names)
            loops = [*own, *loops]
            frame = user_lines.caller(frame.f_back) if frame.f_back is not None else None
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

    def _look_for_generator(self, loops: list[loop_bounds.Bounded], names: dict[str, Any]) -> None:
        if self._generator is not None or not loops:
            return
        inner = loops[-1]
        if inner.kind == "data" and len(loops) > 1:
            name, outer = loop_bounds.iterated_name(inner.node), loops[-2]
            left = loop_source.can_be_left(inner.node) or loop_source.can_be_left(outer.node)
            if (outer.rounds or 0) < 2 or left:
                return
            one_shot, where = True, inner.where
        else:
            name, outer, one_shot = _asked_by_next(inner.node), inner, False
            where = inner.where
            if (outer.rounds or 0) < 2:
                return
        given = names.get(name)
        if not isinstance(given, GeneratorType) or _assigned_in(outer.node, name):
            return
        end = DataRanOut(
            where=where, iterator=name, planned=outer.rounds, bound=outer.bound, one_shot=one_shot
        )
        self._generator = weak(given), end

    # -- an iterator of a framework's ------------------------------------------------------------------------

    def asked_in_vain(self) -> None:
        """An iterator that was trained on has ended, in whatever way the loop asks it."""
        frame = user_lines.caller()
        if frame is None:
            return
        loops = loop_bounds.around(frame)
        if not loops or _is_header(loops[-1].node, frame):
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
        elif self._generator is not None:
            generator, end = self._generator
            given = generator()
            ended = given is None or given.gi_frame is None
            if ended and (end.one_shot or step < (end.planned or 0)):
                self._context.record(DataRanOut(**{**payload(end), "step": step}))


def _asked_by_next(loop: Any) -> str:
    """The variable that the loop's body calls `next` on."""
    calls = [node for node in ast.walk(loop) if isinstance(node, ast.Call) and node.args]
    for call in calls:
        asked = call.args[0]
        if isinstance(call.func, ast.Name) and call.func.id == "next" and isinstance(asked, ast.Name):
            return asked.id
    return ""


def _assigned_in(loop: Any, name: str) -> bool:
    """It is made again in the loop."""
    stored = [
        node for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return any(node.id == name for node in stored)


def _is_header(loop: Any, frame: FrameType) -> bool:
    first = loop.body[0].lineno
    return isinstance(loop, ast.For) and loop.lineno <= frame.f_lineno < max(first, loop.lineno + 1)


def _counter_now(loop: loop_bounds.Bounded, frame: FrameType) -> int | None:
    if loop.kind == "while":
        return loop.first
    target = loop.node.target if loop.kind == "range" else None
    if isinstance(target, ast.Tuple) and target.elts:  # enumerate(range(…))
        target = target.elts[-1]
    names = loop_bounds.variables_of(frame)
    return loop_bounds.value(target, names) if isinstance(target, ast.Name) else None
