"""Which line gave a variable its value, read from the source. Nothing is run."""

from __future__ import annotations

import ast
import functools

from . import loop_source


@functools.lru_cache(maxsize=64)
def assigned_at(file: str, line: int, method: str) -> int | None:
    """For `loss.backward()` at this line: the line of the last assignment to `loss` above it; None where there is none."""
    tree = loop_source.tree_of(file)
    names = [
        node.func.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        and isinstance(node.func.value, ast.Name)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if not names:
        return None
    above = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and node.lineno <= line and names[0] in _targets(node)
    ]
    return max(above, default=None)


def _targets(node: ast.Assign) -> set[str]:
    return {
        part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)
    }
