"""Loops that have no round to do because a restored counter is at their end already.

`range(start, steps)` with a `start` from a checkpoint is read in two ways: when a checkpoint has been read, from the
functions that are under way and what they will do with it (`ahead`); and when the process ends, from the variables of
the script itself. What was found counts only if no step was done in the whole run.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ...journal.events import LoopSkipped
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.wrapping import observe
from . import ahead, known_values, loop_bounds, loop_source, skipped_ranges

PART = "skipped_loops"
FILLED = known_values.UNKNOWN  # what was read is in variables that were there before
_MOST_READS = 10_000  # a file of data may be read line by line
_MOST_PLACES = 200
_MOST_OF_A_PLACE = 3
_FRAMES_OF_A_PLACE = 3  # `read_json(path)` reads more than one file
_ALL = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class SkippedLoops:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._found: LoopSkipped | None = None
        self._reads = 0
        self._places: dict[tuple[Any, ...], int] = {}  # and how often each has read
        self._script = ""

    def state_read(self, state: Any, by: str = "") -> None:
        """Something that is stored has been read, by the function `by`: what was in it, or FILLED."""
        if self._found is not None or self._context.heartbeat.step:
            return
        self._reads += 1
        if self._context.fits.current is not None or state is None:
            return
        frame = user_lines.caller()
        if frame is None or not self._is_new(frame):
            return
        if not self._script:
            # The interpreter takes it away when the script has ended.
            self._script = str(getattr(sys.modules.get("__main__"), "__file__", "") or "-")
            self._context.at_exit.append(self.report_at_exit)
        bounds = ahead.Ahead(state).follow(frame, by)
        self._found = _event(bounds) if bounds is not None else None

    def read_by_user(self, by: str, state: Any) -> None:
        """By a line of the user's own, and not by a library for itself."""
        if self._reads > _MOST_READS or self._context.heartbeat.step:
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and user_lines.is_probe(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None and user_lines.is_user_file(frame.f_code.co_filename):
            self.state_read(state, by)

    def _is_new(self, frame: FrameType) -> bool:
        place: list[Any] = []
        outer: FrameType | None = frame
        while outer is not None and len(place) < 2 * _FRAMES_OF_A_PLACE:
            place += [outer.f_code, outer.f_lineno]
            outer = outer.f_back
        times = self._places.get(tuple(place), 0)
        if times >= _MOST_OF_A_PLACE or (not times and len(self._places) >= _MOST_PLACES):
            return False
        self._places[tuple(place)] = times + 1
        return True

    def report_at_exit(self) -> None:
        if self._context.heartbeat.step or getattr(sys, "last_value", None) is not None:
            return
        found = self._found or _of_script(self._script)
        if found is not None:
            self._context.record(found)


def _of_script(file: str) -> LoopSkipped | None:
    """At the end the script's own variables are still there; a `while` has counted up to its end and says nothing."""
    main = sys.modules.get("__main__")
    if main is None or not file or not user_lines.is_user_file(file):
        return None
    names = dict(vars(main))
    for loop in [node for node in _statements(loop_source.tree_of(file).body) if isinstance(node, ast.For)]:
        bounds = loop_bounds.described(loop, file, names)
        if skipped_ranges.is_skipped(loop, bounds):
            return _event(bounds)
    return None


def _event(one: loop_bounds.Bounded) -> LoopSkipped | None:
    if one.first is None or one.goal is None:
        return None
    return LoopSkipped(where=one.where, counter=one.counter, first=one.first, bound=one.bound, goal=one.goal)


def _statements(body: list[Any]) -> Iterator[Any]:
    """All of them, in order, without those of functions inside."""
    for node in body:
        if isinstance(node, _ALL):
            continue
        yield node
        for block in loop_source.blocks(node):
            yield from _statements(block)


def hook_load(context: ProbeContext, module: Any) -> None:
    """`torch.load`, `pickle.load` and `loads` and the like, which return what was stored."""
    for name in ("load", "loads"):
        _watch(context, module, name)


def _watch(context: ProbeContext, module: Any, name: str) -> None:
    def done(token: Any, result: Any) -> None:
        context.skipped_loops.read_by_user(name, result)

    observe(context, module, name, PART, after=done)


HOOKS = tuple(Hook(PART, module, hook_load) for module in ("pickle", "joblib", "json", "numpy"))
TORCH_HOOKS = (Hook(PART, "torch.serialization", hook_load),)
