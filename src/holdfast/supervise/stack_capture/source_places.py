"""What the source says about the line that a thread is at: a generator, a loop without an end, one that connects."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_MAX_CHARACTERS = 400_000
_CONNECTS = ("connect", "connect_ex", "create_connection", "open_connection", "Client")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.While, ast.For, ast.AsyncFor)


@dataclass(frozen=True, slots=True)
class SourcePlace:
    yields: bool = False  # its function is a generator
    endless: bool = False  # the loop around it has no end: `while True` without a `break`
    connects: bool = False  # the loop around it connects to another process


def place_of(file: str, line: int) -> SourcePlace:
    tree = _tree(file)
    around = _around(tree, line) if tree is not None else []
    functions = [node for node in around if isinstance(node, _FUNCTIONS)]
    inner = around[around.index(functions[-1]) :] if functions else around
    loop = next((node for node in reversed(inner) if isinstance(node, _LOOPS)), None)
    own = list(_own_nodes(functions[-1])) if functions else []
    return SourcePlace(
        yields=any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in own),
        endless=loop is not None and _is_endless(loop),
        connects=loop is not None and any(_connects(node) for node in ast.walk(loop)),
    )


@functools.lru_cache(maxsize=64)
def _tree(file: str) -> ast.Module | None:
    try:
        text = Path(file).read_text(errors="replace")
        return ast.parse(text) if len(text) < _MAX_CHARACTERS else None
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _around(tree: ast.AST, line: int) -> Sequence[ast.AST]:
    """The nodes that the line is in, outermost first."""
    found: list[ast.stmt | ast.expr] = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (*_FUNCTIONS, *_LOOPS)) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return sorted(found, key=lambda node: (node.lineno, -(node.end_lineno or 0)))


def _own_nodes(function: ast.AST) -> list[ast.AST]:
    """Of a function without those that are defined in it."""
    found: list[ast.AST] = []
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, _FUNCTIONS):
            found += [node, *_own_nodes(node)]
    return found


def _is_endless(loop: ast.AST) -> bool:
    always = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    leaves = any(isinstance(node, (ast.Break, ast.Return)) for node in _own_nodes(loop))
    return always and not leaves


def _connects(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in _CONNECTS
