"""Which line gave a variable its value, read from the source. Nothing is run."""

from __future__ import annotations

import ast
import functools

from . import loop_source


@functools.lru_cache(maxsize=64)
def assigned_at(file: str, line: int, method: str) -> int | None:
    """For `loss.backward()` or `tape.gradient(loss, …)` at this line: where `loss` was last assigned above it."""
    calls = [
        call
        for call in _calls(loop_source.tree_of(file), method)
        if call.lineno <= line <= (call.end_lineno or call.lineno)
    ]
    return _assigned(loop_source.tree_of(file), calls[0], line) if calls else None


@functools.lru_cache(maxsize=64)
def differentiated_in(file: str, first_line: int) -> int | None:
    """In the function that begins here: the line that computes what its tape differentiates."""
    for node in ast.walk(loop_source.tree_of(file)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if min([node.lineno, *(one.lineno for one in node.decorator_list)]) != first_line:
            continue
        calls = _calls(node, "gradient")
        return _assigned(node, calls[0], calls[0].lineno) if calls else None
    return None


def _calls(tree: ast.AST, method: str) -> list[ast.Call]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == method]


def _assigned(tree: ast.AST, call: ast.Call, line: int) -> int | None:
    """`backward` is called on the loss, `gradient` is given it."""
    method = call.func if isinstance(call.func, ast.Attribute) else None
    if method is None:
        return None
    loss = call.args[0] if method.attr == "gradient" and call.args else method.value
    if not isinstance(loss, ast.Name):
        return None
    above = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and node.lineno <= line and loss.id in _targets(node)
    ]
    return max(above, default=None)


def _targets(node: ast.Assign) -> set[str]:
    return {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
