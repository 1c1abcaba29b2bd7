"""Whether a loop of the user's has a round to do, by what its bounds are worth."""

from __future__ import annotations

import ast
from typing import Any

from . import loop_bounds


def is_skipped(loop: Any, bounds: loop_bounds.Bounded) -> bool:
    """It has no round to do, though its beginning is no number of the source; and there is something in it."""
    if bounds.first is None or bounds.goal is None or not 0 < bounds.goal <= bounds.first:
        return False
    named = any(isinstance(node, ast.Name) for node in ast.walk(loop_bounds.first_of(loop)))
    return named and any(isinstance(node, ast.Call) for one in loop.body for node in ast.walk(one))


def conditions(loop: Any) -> list[Any]:
    """A `while` for each part of its condition that ends it, with the counter on the left."""
    if not isinstance(loop, ast.While):
        return [loop]
    test = loop.test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    turned = []
    for part in parts:
        over = {ast.Gt: ast.Lt(), ast.GtE: ast.LtE()}
        other = over.get(type(part.ops[0])) if isinstance(part, ast.Compare) and len(part.ops) == 1 else None
        if other is not None and isinstance(part, ast.Compare):
            swapped = ast.Compare(left=part.comparators[0], ops=[other], comparators=[part.left])
            part = ast.copy_location(swapped, part)
        turned.append(ast.copy_location(ast.While(test=part, body=loop.body, orelse=[]), loop))
    return turned
