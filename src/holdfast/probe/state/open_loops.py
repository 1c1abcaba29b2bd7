"""Training inside a `while` that ends only when something it computes gets there: read from the source, nothing is run.

A counter, a clock or anything that cannot be followed makes a loop that ends by itself, as far as can be known.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ...journal.events import OpenLoopSeen
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from .for_loops import blocks, exits

PART = "openloops"
_MOST_CHARACTERS = 400_000
_MOST_FRAMES = 20
_LEAVING = (ast.Return, ast.Raise)
_CLOCKS = frozenset({"time", "monotonic", "perf_counter", "process_time", "now", "utcnow", "today"})
_ASKING = frozenset(
    {"len", "is_set", "exists", "isfile", "empty", "qsize", "poll", "is_alive", "wait", "next"}
)
_MOST_TESTS = 5


def tell(session: ProbeContext) -> None:
    """Once, at the first step or fit: in which open loop of the user's code it stands."""
    if session.seen.get("open_loop_said"):
        return
    session.seen["open_loop_said"] = True
    found = None
    frame = user_lines.caller()
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        found = around(frame) or found
        frame = user_lines.caller(frame.f_back) if frame.f_back is not None else None
    if found is not None and found["until"] is not None:
        session.say(OpenLoopSeen(where=found["where"], until=found["until"]))


def around(frame: FrameType) -> dict[str, Any] | None:
    """The outermost loop around the line of this frame; `until` is None for one that ends by itself."""
    loop = _outermost(_tree(frame.f_code.co_filename), frame.f_lineno)
    if loop is None:
        return None
    until = _tests(loop) if isinstance(loop, ast.While) else None
    return {"where": f"{user_lines.short(frame.f_code.co_filename)}:{loop.lineno}", "until": until}


@functools.lru_cache(maxsize=16)
def _tree(file: str) -> ast.Module:
    text = "".join(linecache.getlines(file))
    try:
        return ast.parse(text) if len(text) < _MOST_CHARACTERS else ast.Module([], [])
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _outermost(tree: ast.Module, line: int) -> ast.While | ast.For | None:
    """Of the loops around this line that belong to the same function as it."""
    found: ast.While | ast.For | None = None
    statements = tree.body
    while True:
        inside = next((one for one in statements if one.lineno <= line <= (one.end_lineno or 0)), None)
        if inside is None:
            return found
        if isinstance(inside, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found = None
        elif isinstance(inside, ast.While | ast.For) and found is None and line > inside.lineno:
            found = inside
        statements = [one for block in blocks(inside) for one in block]


def _tests(loop: ast.While) -> list[str] | None:
    """What ends it, as written, when all of that is computed anew in every round; None when it ends otherwise."""
    ways = [] if isinstance(loop.test, ast.Constant) and loop.test.value else [("while", loop.test)]
    for test in _ways_out(loop.body, None, own=True):
        if test is None:
            return None  # left without a condition: by another road than can be read here
        ways.append(("until", test))
    made = _made_in(loop)
    if not all(_is_computed(test, made) for _, test in ways):
        return None
    return [f"{word} `{ast.unparse(test)[:120]}`" for word, test in ways[:_MOST_TESTS]]


def _ways_out(statements: list[ast.stmt], test: ast.expr | None, *, own: bool) -> Iterator[ast.expr | None]:
    """The condition of each way out of the loop."""
    for one in statements:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(one, _LEAVING) or (isinstance(one, ast.Break) and own):
            yield test
        elif isinstance(one, ast.If):
            yield from _ways_out(one.body, one.test, own=own)
            yield from _ways_out(one.orelse, one.test, own=own)
        elif isinstance(one, ast.Try):
            for block in (one.body, one.orelse, one.finalbody):
                yield from _ways_out(block, test, own=own)
            for handler in one.handlers:
                if "KeyboardInterrupt" not in ast.unparse(handler.type or ast.Constant(None)):
                    yield from _ways_out(handler.body, None, own=own)
        elif blocks(one):
            inner = own and not isinstance(one, ast.For | ast.AsyncFor | ast.While)
            for block in blocks(one):
                yield from _ways_out(block, test, own=inner)
        elif any(exits(part) or isinstance(part, ast.Yield) for part in ast.walk(one)):
            yield test


def _made_in(loop: ast.While) -> dict[str, list[ast.expr | None]]:
    """What is assigned to each name in a round; None for a count."""
    made: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in _names(target):
                    made.setdefault(name, []).append(node.value)
        elif isinstance(node, ast.AugAssign | ast.For):
            for name in _names(node.target):
                made.setdefault(name, []).append(None)
        elif isinstance(node, ast.NamedExpr | ast.AnnAssign) and isinstance(node.target, ast.Name):
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
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add | ast.Sub):
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
