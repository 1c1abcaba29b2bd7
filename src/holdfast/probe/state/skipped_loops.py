"""Loops that have no round to do because a restored counter is at their end already.

`range(start, steps)` with a `start` from a checkpoint is read in two ways: when a checkpoint has been read, from the
functions that are under way and what they will do with it; and when the process ends, from the variables of the
script itself. What was found counts only if no step was done in the whole run.
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
from . import loop_bounds, loop_source

PART = "skipped_loops"
_MAX_FRAMES = 6
_MOST_NUMBERS = 200
_MOST_READS = 20  # that are looked at
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ALL = (*_FUNCTIONS, ast.ClassDef)


class SkippedLoops:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._found: LoopSkipped | None = None
        self._reads = 0
        self._script = ""

    def state_read(self, numbers: dict[str, int] | None) -> None:
        """A checkpoint has been read: the whole numbers in it by their keys; None where it filled variables."""
        if self._context.heartbeat.step or self._context.fits.current is not None or numbers == {}:
            return
        self._reads += 1
        if self._reads > _MOST_READS:
            return
        if self._reads == 1:
            # The interpreter takes it away when the script has ended.
            self._script = str(getattr(sys.modules.get("__main__"), "__file__", "") or "")
            self._context.at_exit.append(self.report_at_exit)
        frame = user_lines.caller()
        for _ in range(_MAX_FRAMES):
            if frame is None or self._found is not None:
                break
            self._found = _of_frame(frame, numbers or {})
            frame = user_lines.caller(frame.f_back) if frame.f_back is not None else None

    def report_at_exit(self) -> None:
        if self._context.heartbeat.step or getattr(sys, "last_value", None) is not None:
            return
        found = self._found or _of_script(self._script)
        if found is not None:
            self._context.record(found)


def _of_frame(frame: FrameType, numbers: dict[str, int]) -> LoopSkipped | None:
    """In the function that has just read it: a loop further down that will find nothing to do."""
    file, names = frame.f_code.co_filename, loop_bounds.variables_of(frame)
    body = _function_around(loop_source.tree_of(file), frame.f_lineno)
    later = [node for node in _statements(body) if node.lineno >= frame.f_lineno]
    names = {**names, **_will_be(later, numbers)}
    for loop in [
        node for node in later if isinstance(node, (ast.For, ast.While)) and node.lineno > frame.f_lineno
    ]:
        found = _skipped(loop, file, names)
        if found is not None:
            return found
    return None


def _of_script(file: str) -> LoopSkipped | None:
    """At the end the script's own variables are still there; a `while` has counted up to its end and says nothing."""
    main = sys.modules.get("__main__")
    if main is None or not file or not user_lines.is_user_file(file):
        return None
    names = dict(vars(main))
    for loop in [node for node in _statements(loop_source.tree_of(file).body) if isinstance(node, ast.For)]:
        found = _skipped(loop, file, names)
        if found is not None:
            return found
    return None


def _skipped(loop: Any, file: str, names: dict[str, Any]) -> LoopSkipped | None:
    one = loop_bounds.described(loop, file, names)
    if one.first is None or one.goal is None or not 0 < one.goal <= one.first or not _calls(loop):
        return None
    if not any(isinstance(node, ast.Name) for node in ast.walk(_first_of(loop))):
        return None  # a number in the source is meant
    return LoopSkipped(where=one.where, counter=one.counter, first=one.first, bound=one.bound, goal=one.goal)


def _first_of(loop: Any) -> ast.AST:
    if isinstance(loop, ast.While):
        return loop.test.left if isinstance(loop.test, ast.Compare) else loop.test
    iterated = loop.iter
    while isinstance(iterated, ast.Call) and len(iterated.args) == 1:
        iterated = iterated.args[0]
    return iterated.args[0] if isinstance(iterated, ast.Call) and len(iterated.args) > 1 else ast.Constant(0)


def _calls(loop: Any) -> bool:
    return any(isinstance(node, ast.Call) for statement in loop.body for node in ast.walk(statement))


def _numbers(state: Any, depth: int = 0) -> dict[str, int]:
    """Whole numbers by their keys, of a dictionary and those in it."""
    found: dict[str, int] = {}
    if type(state) is not dict or depth > 2:
        return found
    for key, value in list(state.items())[:_MOST_NUMBERS]:
        if isinstance(key, str) and type(value) is int:
            found.setdefault(key, value)
        elif type(value) is dict and len(value) < _MOST_NUMBERS:
            found.update({name: one for name, one in _numbers(value, depth + 1).items() if name not in found})
    return found


def _will_be(later: list[Any], numbers: dict[str, int]) -> dict[str, int]:
    """Variables that are given a number of the state: `start = state["step"] + 1`."""
    given: dict[str, int] = {}
    for node in later:
        if not isinstance(node, ast.Assign):
            continue
        for target, value in _pairs(node):
            taken = _from_state(value, numbers)
            if taken is not None and isinstance(target, ast.Name):
                given[target.id] = taken
    return given


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts)
        else:
            yield target, node.value


def _from_state(expression: ast.expr, numbers: dict[str, int]) -> int | None:
    if isinstance(expression, ast.BinOp) and isinstance(expression.right, ast.Constant):
        left, right = _from_state(expression.left, numbers), expression.right.value
        if left is None or type(right) is not int:
            return None
        return left + right if isinstance(expression.op, ast.Add) else None
    called = getattr(expression.func, "id", "") if isinstance(expression, ast.Call) else ""
    if called == "int" and isinstance(expression, ast.Call) and len(expression.args) == 1:
        return _from_state(expression.args[0], numbers)
    key: Any = None
    if isinstance(expression, ast.Subscript):
        key = loop_bounds.key_of(expression)
    elif (
        isinstance(expression, ast.Call) and getattr(expression.func, "attr", "") == "get" and expression.args
    ):
        key = getattr(expression.args[0], "value", None)
    return numbers.get(key) if isinstance(key, str) else None


def _function_around(tree: ast.Module, line: int) -> list[Any]:
    body: list[Any] = tree.body
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and node.lineno <= line <= (node.end_lineno or 0):
            body = node.body  # ast.walk comes to inner functions later
    return body


def _statements(body: list[Any]) -> Iterator[Any]:
    """All of them, in order, without those of functions inside."""
    for node in body:
        if isinstance(node, _ALL):
            continue
        yield node
        for block in loop_source.blocks(node):
            yield from _statements(block)


def hook_load(context: ProbeContext, module: Any) -> None:
    """`torch.load` and `pickle.load`, which return what was stored."""
    observe(
        context, module, "load", PART,
        after=lambda token, result: context.skipped_loops.state_read(_numbers(result)),
    )  # fmt: skip


HOOKS = (Hook(PART, "pickle", hook_load), Hook(PART, "joblib", hook_load))
TORCH_HOOKS = (Hook(PART, "torch.serialization", hook_load),)
