"""Whether a loop over the data, inside another one, can ever be left: read from its source, nothing is run."""

from __future__ import annotations

import ast
import linecache
from types import FrameType

_LEAVES = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom)
_MOST_CHARACTERS = 400_000


def never_left(frame: FrameType) -> bool:
    """The frame stands at the head of a `for` that has no way out but its data's end, and another loop is around it."""
    text = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    if not text or len(text) > _MOST_CHARACTERS:
        return False
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return _in_a_loop(tree.body, frame.f_lineno, inside=False)


def _in_a_loop(statements: list[ast.stmt], line: int, *, inside: bool) -> bool:
    for one in statements:
        if isinstance(one, ast.For) and one.lineno == line:
            return inside and not _can_be_left(one.body, of_this=True)
        if not one.lineno <= line <= (one.end_lineno or one.lineno):
            continue
        function = isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        around = not function and (inside or isinstance(one, ast.For | ast.While))
        return any(_in_a_loop(block, line, inside=around) for block in blocks(one))
    return False


def blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    found = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
    found += [handler.body for handler in getattr(statement, "handlers", [])]
    found += [case.body for case in getattr(statement, "cases", [])]
    return [block for block in found if isinstance(block, list)]


def _can_be_left(statements: list[ast.stmt], *, of_this: bool) -> bool:
    """By `break` of this very loop, by leaving its function, or by a call of an exit."""
    for one in statements:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(one, _LEAVES) or (isinstance(one, ast.Break) and of_this):
            return True
        own = of_this and not isinstance(one, ast.For | ast.AsyncFor | ast.While)
        if any(_can_be_left(block, of_this=own) for block in blocks(one)):
            return True
        if not blocks(one) and any(isinstance(part, ast.Yield) or exits(part) for part in ast.walk(one)):
            return True
    return False


def exits(part: ast.AST) -> bool:
    called = part.func if isinstance(part, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("exit", "_exit", "quit", "abort", "kill")
