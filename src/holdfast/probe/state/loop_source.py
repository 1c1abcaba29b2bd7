"""Whether a loop of the user's can end by itself, read from its source or its code. Nothing is run.

Three questions: is the training inside a `while` that ends only when something it computes gets there (`around`); can
a `for` over the data, inside another loop, be left before its data ends (`never_left`); can a generator end
(`never_returns`). A counter, a clock or anything that cannot be followed makes a loop that ends by itself, as far as
can be known.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import itertools
import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from ...journal.events import OpenLoopSeen
from ..runtime import frame_locals, user_lines
from ..runtime.context import ProbeContext

PART = "loop_source"
_ENDS_ARE_KNOWN = sys.version_info >= (3, 8)  # of a statement, by the parser; of a loop, by its jumps
_MAX_CHARACTERS = 400_000
_MAX_FRAMES = 20
_LEAVING = (ast.Return, ast.Raise)
_LEAVES_FUNCTION = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom)
_CLOCKS = frozenset({"time", "monotonic", "perf_counter", "process_time", "now", "utcnow", "today"})
_ASKING = frozenset(
    {"len", "is_set", "exists", "isfile", "empty", "qsize", "poll", "is_alive", "wait", "next"}
)
_BOUNDING = frozenset({"islice", "take", "range", "takewhile"})
_ENDING = (list, tuple, dict, set, range, zip, itertools.islice, itertools.takewhile)
_MAX_TESTS = 5
_NEVER_CONTINUES = ("JUMP_FORWARD", "JUMP_ABSOLUTE", "RAISE_VARARGS", "RETURN_VALUE")
#: Nodes of a dataset behind which an endless source is as endless as before.
_KEEP_THE_LENGTH = frozenset(
    {"map", "batch", "padded_batch", "ragged_batch", "prefetch", "shuffle", "repeat", "options", "cache", "model",
     "parallel_map", "max_intra_op_parallelism", "private_thread_pool"}
)  # fmt: skip


class OpenLoopLog:
    """Records, once a run, in which open loop of the user's code the first step or fit is."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._recorded = False

    def new_run(self) -> None:
        self._recorded = False

    def record(self) -> None:
        if not self._recorded:
            self._recorded = True
            self._context.guard(PART, self._record)

    def _record(self) -> None:
        outermost = None
        frame = user_lines.caller()
        for _ in range(_MAX_FRAMES):
            if frame is None:
                break
            outermost = around(frame) or outermost
            frame = user_lines.caller(frame.f_back) if frame.f_back is not None else None
        if outermost is not None and outermost["until"] is not None:
            self._context.record(OpenLoopSeen(where=outermost["where"], until=outermost["until"]))


# -- a `while` around the training -------------------------------------------------------------------


def around(frame: FrameType) -> dict[str, Any] | None:
    """The outermost loop around the line of this frame; `until` is None for one that ends by itself."""
    file = frame.f_code.co_filename
    loop = _outermost(tree_of(file), frame.f_lineno)
    if loop is None:
        return None
    until = _tests(loop, "".join(linecache.getlines(file))) if isinstance(loop, ast.While) else None
    return {"where": f"{user_lines.short(file)}:{loop.lineno}", "until": until}


@functools.lru_cache(maxsize=16)
def tree_of(file: str) -> ast.Module:
    return _parse("".join(linecache.getlines(file)))


def _parse(text: str) -> ast.Module:
    try:
        return ast.parse(text if _ENDS_ARE_KNOWN and len(text) < _MAX_CHARACTERS else "")
    except (SyntaxError, ValueError):
        return ast.parse("")


def _outermost(tree: ast.Module, line: int) -> ast.While | ast.For | None:
    """Of the loops around this line that belong to the same function as it."""
    outermost: ast.While | ast.For | None = None
    statements = tree.body
    while True:
        inside = next((one for one in statements if one.lineno <= line <= (one.end_lineno or 0)), None)
        if inside is None:
            return outermost
        if isinstance(inside, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            outermost = None
        elif isinstance(inside, (ast.While, ast.For)) and outermost is None and line > inside.lineno:
            outermost = inside
        statements = [one for block in blocks(inside) for one in block]


def _tests(loop: ast.While, text: str) -> list[str] | None:
    """What ends it, as written, when all of that is computed again in every round; None when it ends otherwise."""
    ways = [] if isinstance(loop.test, ast.Constant) and loop.test.value else [("while", loop.test)]
    for test in _ways_out(loop.body, None, own=True):
        if test is None:
            return None  # left without a condition: by another road than can be read here
        ways.append(("until", test))
    made = _made_in(loop)
    if not all(_is_computed(test, made) for _, test in ways):
        return None
    return [f"{word} `{_as_written(test, text)[:120]}`" for word, test in ways[:_MAX_TESTS]]


def _as_written(expression: ast.expr, text: str) -> str:
    if sys.version_info < (3, 8):
        return ""
    return " ".join((ast.get_source_segment(text, expression) or "").split())


def _ways_out(statements: list[ast.stmt], test: ast.expr | None, *, own: bool) -> Iterator[ast.expr | None]:
    """The condition of each way out of the loop."""
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(statement, _LEAVING) or (isinstance(statement, ast.Break) and own):
            yield test
        elif isinstance(statement, ast.If):
            yield from _ways_out(statement.body, statement.test, own=own)
            yield from _ways_out(statement.orelse, statement.test, own=own)
        elif isinstance(statement, ast.Try):
            for block in (statement.body, statement.orelse, statement.finalbody):
                yield from _ways_out(block, test, own=own)
            for handler in statement.handlers:
                if handler.type is None or "KeyboardInterrupt" not in _names(handler.type):
                    yield from _ways_out(handler.body, None, own=own)
        elif blocks(statement):
            inner = own and not isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
            for block in blocks(statement):
                yield from _ways_out(block, test, own=inner)
        elif any(_exits(part) or isinstance(part, ast.Yield) for part in ast.walk(statement)):
            yield test


def _made_in(loop: ast.While) -> dict[str, list[ast.expr | None]]:
    """What is assigned to each name in a round; None for a count."""
    made: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in _names(target):
                    made.setdefault(name, []).append(node.value)
        elif isinstance(node, (ast.AugAssign, ast.For)):
            for name in _names(node.target):
                made.setdefault(name, []).append(None)
        elif isinstance(node, (ast.NamedExpr, ast.AnnAssign)) and isinstance(node.target, ast.Name):
            made.setdefault(node.target.id, []).append(node.value)
    return made


def _is_computed(test: ast.expr, made: dict[str, list[ast.expr | None]]) -> bool:
    """It depends on names that are computed in the loop, and on no count, clock, attribute or question."""
    pending, seen, computed = [test], set(), False
    while pending:
        expression = pending.pop()
        top = expression is test
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and _called(node) in _CLOCKS | _ASKING:
                return False
            if isinstance(node, ast.Attribute) and top and not _is_called(expression, node):
                return False
            if isinstance(node, ast.Name) and node.id in made and node.id not in seen:
                seen.add(node.id)
                values = made[node.id]
                if any(value is None or _counts(value, node.id) for value in values):
                    return False
                computed = True
                pending += [value for value in values if value is not None]
    return computed


def _counts(value: ast.expr, name: str) -> bool:
    """``n = n + 1``"""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return False
    sides = (value.left, value.right)
    own = any(isinstance(side, ast.Name) and side.id == name for side in sides)
    return own and any(isinstance(side, ast.Constant) for side in sides)


def _is_called(expression: ast.expr, attribute: ast.Attribute) -> bool:
    return any(isinstance(node, ast.Call) and node.func is attribute for node in ast.walk(expression))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


# -- a `for` over the data ---------------------------------------------------------------------------


def never_left(frame: FrameType, *, alone: bool = False) -> bool:
    """The frame is at the head of a `for` that has no way out but its data's end, and another loop is around it;
    `alone`: or none is."""
    lines = linecache.getlines(
        frame.f_code.co_filename, frame.f_globals
    )  # of a notebook's cell, by its globals
    loop = _in_a_loop(_parse("".join(lines)).body, frame.f_lineno, inside=False, alone=alone)
    return loop is not None and not can_be_left(loop) and not _is_bounded(loop.iter, frame)


def _in_a_loop(statements: list[ast.stmt], line: int, *, inside: bool, alone: bool = False) -> ast.For | None:
    for statement in statements:
        if isinstance(statement, ast.For) and statement.lineno == line:
            return statement if inside or alone else None
        if not statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            continue
        function = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        around = not function and (inside or isinstance(statement, (ast.For, ast.While)))
        found = [_in_a_loop(block, line, inside=around, alone=alone) for block in blocks(statement)]
        return next((loop for loop in found if loop is not None), None)
    return None


def _is_bounded(expression: ast.expr, frame: FrameType) -> bool:
    """What is iterated ends by itself, however long the data is: ``islice(data, 9)``, ``data.take(9)``, a list."""
    if isinstance(expression, ast.Name):
        names = frame_locals.of(frame)
        value = names[expression.id] if expression.id in names else frame.f_globals.get(expression.id)
        return isinstance(value, _ENDING)
    if not isinstance(expression, ast.Call):
        return False
    inner = expression.func.value if isinstance(expression.func, ast.Attribute) else None
    parts = [*expression.args, *([inner] if isinstance(inner, ast.Call) else [])]
    return _called(expression) in _BOUNDING or any(_is_bounded(part, frame) for part in parts)


def blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    lists = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
    lists += [handler.body for handler in getattr(statement, "handlers", [])]
    lists += [case.body for case in getattr(statement, "cases", [])]
    return [block for block in lists if isinstance(block, list)]


def can_be_left(loop: Any) -> bool:
    return _can_be_left(loop.body, of_this=True)


def _can_be_left(statements: list[ast.stmt], *, of_this: bool) -> bool:
    """By `break` of this very loop, by leaving its function, or by a call of an exit."""
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(statement, _LEAVES_FUNCTION) or (isinstance(statement, ast.Break) and of_this):
            return True
        own = of_this and not isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
        if any(_can_be_left(block, of_this=own) for block in blocks(statement)):
            return True
        if not blocks(statement) and any(
            isinstance(part, ast.Yield) or _exits(part) for part in ast.walk(statement)
        ):
            return True
    return False


def _exits(part: ast.AST) -> bool:
    called = part.func if isinstance(part, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("exit", "_exit", "quit", "abort", "kill")


# -- generators --------------------------------------------------------------------------------------


def never_returns(function: Any) -> bool:
    """``while True`` with no way out but an exception: the compiler leaves no return in such a function."""
    for _ in range(8):
        function = getattr(function, "func", None) or getattr(function, "__func__", None) or function
    code = function if isinstance(function, CodeType) else getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or not code.co_flags & inspect.CO_GENERATOR or not _ENDS_ARE_KNOWN:
        return False
    return not any(one.opname in ("RETURN_VALUE", "RETURN_CONST") for one in _reachable(code))


def _reachable(code: CodeType) -> Iterator[dis.Instruction]:
    """Before Python 3.10 the compiler leaves a return behind an endless loop, which nothing leads to."""
    steps = list(dis.get_instructions(code))
    if sys.version_info >= (3, 10):
        yield from steps
        return
    at = {step.offset: number for number, step in enumerate(steps)}
    pending, seen = [0], set()
    while pending:
        number = pending.pop()
        if number in seen or number >= len(steps):
            continue
        seen.add(number)
        step = steps[number]
        yield step
        if step.opcode in dis.hasjabs + dis.hasjrel:
            pending.append(at[step.argval])
        if step.opname not in _NEVER_CONTINUES:
            pending.append(number + 1)


def is_endless(nodes: list[dict[str, Any]]) -> bool:
    """Whether the dataset whose nodes these are, from the source to the end, never ends."""
    marked = [at for at, node in enumerate(nodes) if node.get("endless")]
    return bool(marked) and all(node.get("op") in _KEEP_THE_LENGTH for node in nodes[marked[-1] + 1 :])
