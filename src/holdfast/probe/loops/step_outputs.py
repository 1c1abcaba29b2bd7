"""What a step of the user's own returned, by name, so that a loss is known for one."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from ..state import finiteness


def by_name(names: list[str], result: Any, differentiated: str = "") -> dict[str, Any]:
    """The scalars of a step's result by their names; the scalar that is differentiated, or called a loss, is "loss".

    Of values that are on several replicas, the first replica's.
    """
    if isinstance(result, dict):
        parts = {str(name): finiteness.component(value) for name, value in result.items()}
        scalars = {name: value for name, value in parts.items() if is_scalar(value)}
    else:
        values = result if isinstance(result, (list, tuple)) else [result]
        values = [finiteness.component(value) for value in values]
        scalars = {
            names[i] if i < len(names) else f"result {i}": value
            for i, value in enumerate(values)
            if is_scalar(value)
        }
        if len(scalars) == 1 and len(values) == 1:
            scalars = {"loss": next(iter(scalars.values()))}
        for value in values:  # (state, {"loss": …, "accuracy": …})
            if isinstance(value, dict) and value and all(is_scalar(scalar) for scalar in value.values()):
                scalars = {**scalars, **{str(name): scalar for name, scalar in value.items()}}
    losses = [name for name in scalars if "loss" in name.lower()]
    loss = next((name for name in losses if "total" in name.lower()), losses[0] if losses else None)
    loss = differentiated if differentiated in scalars else loss
    if loss is not None and "loss" not in scalars:
        scalars["loss"] = scalars.pop(loss)
    return scalars


def names_in(function: Any) -> list[str]:
    """What the function's last `return` calls its values, so that a loss is known by its name."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return []
    returns = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None
    ]
    if not returns:
        return []
    parts = returns[-1].elts if isinstance(returns[-1], (ast.Tuple, ast.List)) else [returns[-1]]
    return [part.id if isinstance(part, ast.Name) else f"result {i}" for i, part in enumerate(parts)]


def is_scalar(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return True
    kind = str(getattr(getattr(value, "dtype", None), "name", getattr(value, "dtype", "")))
    return "float" in kind and tuple(getattr(value, "shape", (1,)) or ()) == ()
