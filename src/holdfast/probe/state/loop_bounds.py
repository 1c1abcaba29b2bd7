"""How many rounds a loop of the user's has, by its source and the variables that are there. Nothing is run.

A bound is a number, a variable, an attribute, a sum or product of those, or the length of a plain container. What
would need a call of the user's own code is not known.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

from ..runtime import frame_locals, user_lines
from . import finiteness, loop_source

_WRAPPERS = ("tqdm", "trange", "track", "enumerate", "progress")
_PLAIN = (list, tuple, dict, str, bytes, set, range)
_MOST_PARTS = 40
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Bounded(NamedTuple):
    """One loop."""

    node: Any
    where: str
    kind: str  # range | while | data
    first: int | None = None  # where it begins, or is now
    goal: int | None = None  # where it ends
    counter: str = ""  # as written
    bound: str = ""

    @property
    def rounds(self) -> int | None:
        return self.goal - self.first if self.goal is not None and self.first is not None else None


def variables_of(frame: FrameType) -> dict[str, Any]:
    return {**frame.f_globals, **frame_locals.of(frame)}


def around(frame: FrameType, names: dict[str, Any] | None = None) -> list[Bounded]:
    """The loops around the line of this frame in its own function, the outermost first."""
    names = variables_of(frame) if names is None else names
    file = frame.f_code.co_filename
    return [described(loop, file, names) for loop in _enclosing(loop_source.tree_of(file), frame.f_lineno)]


def line_of_loop(frame: FrameType | None) -> str:
    """Of the `for` whose data this frame draws right now, in its own line; "" where something else draws."""
    own = (
        _enclosing(loop_source.tree_of(frame.f_code.co_filename), frame.f_lineno) if frame is not None else []
    )
    return user_lines.of_frame(frame) if own and is_header(own[-1], frame) else ""


def is_header(loop: Any, frame: FrameType | None) -> bool:
    """The frame is where the loop asks for its next element."""
    first = loop.body[0].lineno
    line = frame.f_lineno if frame is not None else 0
    return isinstance(loop, ast.For) and loop.lineno <= line < max(first, loop.lineno + 1)


def described(
    loop: Any, file: str, names: dict[str, Any], number: Callable[[ast.expr], int | None] | None = None
) -> Bounded:
    """`number`: what an expression is worth; without it, by the variables."""
    number = number if number is not None else lambda expression: value(expression, names)
    where = f"{user_lines.short(file)}:{loop.lineno}"
    if isinstance(loop, ast.While):
        return _while(loop, where, file, number)
    ranged = _range(loop.iter)
    if ranged is None:
        return Bounded(loop, where, "data", bound=_text(loop.iter, file))
    args = ranged.args
    first, goal = (args[0], args[1]) if len(args) > 1 else (None, args[0])
    plain = len(args) < 3 or number(args[2]) == 1
    return Bounded(
        loop, where, "range",
        first=(0 if first is None else number(first)) if plain else None,
        goal=number(goal) if plain else None,
        counter=_text(first, file) if first is not None else "0",
        bound=_text(goal, file),
    )  # fmt: skip


def _while(loop: ast.While, where: str, file: str, number: Callable[[ast.expr], int | None]) -> Bounded:
    test = loop.test
    if (
        not isinstance(test, ast.Compare)
        or len(test.ops) != 1
        or not isinstance(test.ops[0], (ast.Lt, ast.LtE))
    ):
        return Bounded(loop, where, "while", bound=_text(test, file))
    goal = number(test.comparators[0])
    more = 1 if isinstance(test.ops[0], ast.LtE) and goal is not None else 0
    return Bounded(
        loop, where, "while", number(test.left), goal + more if goal is not None else None,
        _text(test.left, file), _text(test.comparators[0], file),
    )  # fmt: skip


def _range(iterated: ast.expr) -> ast.Call | None:
    """`range(…)`, also inside `tqdm(…)` and the like."""
    for _ in range(3):
        if not isinstance(iterated, ast.Call):
            return None
        name = _called(iterated)
        if name in ("range", "trange") and 1 <= len(iterated.args) <= 3:
            return iterated
        if name not in _WRAPPERS or not iterated.args:
            return None
        iterated = iterated.args[0]
    return None


def first_of(loop: Any) -> ast.AST:
    """Where it begins, as written; of a `while` its counter."""
    if isinstance(loop, ast.While):
        return loop.test.left if isinstance(loop.test, ast.Compare) else loop.test
    ranged = _range(loop.iter)
    return ranged.args[0] if ranged is not None and len(ranged.args) > 1 else ast.Constant(value=0)


def iterated_name(loop: ast.For) -> str:
    """`batches` of `for x, y in enumerate(batches)`; "" for anything but a variable."""
    iterated = loop.iter
    while isinstance(iterated, ast.Call) and _called(iterated) in _WRAPPERS and iterated.args:
        iterated = iterated.args[0]
    return iterated.id if isinstance(iterated, ast.Name) else ""


def value(expression: ast.expr, names: dict[str, Any], depth: int = 0) -> int | None:
    """A whole number, or None."""
    if depth > _MOST_PARTS:
        return None
    if isinstance(expression, ast.BinOp):
        return _computed(expression, names, depth)
    if isinstance(expression, ast.Call):
        return _of_call(expression, names, depth)
    return whole(_object(expression, names))


def _computed(expression: ast.BinOp, names: dict[str, Any], depth: int) -> int | None:
    left, right = value(expression.left, names, depth + 1), value(expression.right, names, depth + 1)
    return None if left is None or right is None else computed(expression.op, left, right)


def computed(how: ast.operator, left: int, right: int) -> int | None:
    if isinstance(how, ast.Add):
        return left + right
    if isinstance(how, ast.Sub):
        return left - right
    if isinstance(how, ast.Mult):
        return left * right
    return left // right if isinstance(how, ast.FloorDiv) and right else None


def _of_call(call: ast.Call, names: dict[str, Any], depth: int) -> int | None:
    """`int(step)`, `step.numpy()`, `len(files)`."""
    name = _called(call)
    if name == "int" and len(call.args) == 1:
        return value(call.args[0], names, depth + 1)
    if name in ("numpy", "item") and isinstance(call.func, ast.Attribute) and not call.args:
        return value(call.func.value, names, depth + 1)
    if name == "len" and len(call.args) == 1:
        counted = _object(call.args[0], names)
        numpy = sys.modules.get("numpy")
        plain = type(counted) in _PLAIN or (numpy is not None and type(counted) is numpy.ndarray)
        return len(counted) if plain else None
    return None


def _object(expression: ast.expr, names: dict[str, Any]) -> Any:
    """The value of an expression, found without calling anything."""
    if isinstance(expression, ast.Constant):
        return expression.value
    if isinstance(expression, ast.Name):
        return names.get(expression.id)
    if isinstance(expression, ast.Attribute):
        owner = _object(expression.value, names)
        own = getattr(owner, "__dict__", None)
        found = own.get(expression.attr) if isinstance(own, dict) else None
        return (
            found
            if found is not None
            else vars(type(owner)).get(expression.attr)
            if owner is not None
            else None
        )
    if isinstance(expression, ast.Subscript):
        owner = _object(expression.value, names)
        return owner.get(key_of(expression)) if type(owner) is dict else None
    return None


def key_of(expression: ast.Subscript) -> Any:
    """`state["step"]`: the key. Before Python 3.9 an index has a node of its own."""
    inside: Any = expression.slice
    inside = inside if isinstance(inside, ast.Constant) else getattr(inside, "value", None)
    return inside.value if isinstance(inside, ast.Constant) else None


def whole(found: Any) -> int | None:
    if type(found) is int:
        return found
    kind = str(getattr(getattr(found, "dtype", None), "name", getattr(found, "dtype", "")))
    scalar = "int" in kind and tuple(getattr(found, "shape", (1,))) == ()
    if not scalar:
        return None
    raw = finiteness.raw(found)
    if type(raw).__module__ == "numpy":
        return int(raw)
    return int(raw.numpy()) if finiteness.in_host_memory(raw) and hasattr(raw, "numpy") else None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _text(expression: ast.expr, file: str) -> str:
    if sys.version_info < (3, 8):
        return ""
    whole = "".join(linecache.getlines(file))
    return " ".join((ast.get_source_segment(whole, expression) or "").split())[:80]


def _enclosing(tree: ast.Module, line: int) -> list[Any]:
    found: list[Any] = []
    for node, parents in _walk(tree, ()):
        if isinstance(node, (ast.For, ast.While)) and node.lineno <= line <= (node.end_lineno or 0):
            found = [one for one in (*parents, node) if isinstance(one, (ast.For, ast.While, *_FUNCTIONS))]
    inner = [at for at, one in enumerate(found) if isinstance(one, _FUNCTIONS)]
    return found[inner[-1] + 1 :] if inner else found


def _walk(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    for child in ast.iter_child_nodes(node):
        yield child, parents
        yield from _walk(child, (*parents, child))
