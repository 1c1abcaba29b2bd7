"""What a step of the user's own returned, by name, so that a loss is known for one."""

from __future__ import annotations

import ast
import inspect
import operator
import textwrap
from typing import Any, NamedTuple

from ...typing_names import Protocol
from ..state import finiteness

#: What a loss may be put together with from its terms.
_OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class JittedCalls(Protocol):
    """The jitted functions of JAX, where there are any."""

    def mark_training(self) -> bool:
        """The outermost function that is being called trains. False when none is."""

    @property
    def in_call(self) -> bool: ...

    @property
    def result(self) -> str:
        """Of the newest step: pending | ready | unknown."""

    def read_all(self) -> None: ...


class Returned(NamedTuple):
    """What the source of a step says about what it returns."""

    names: list[str]  # of its values
    formulas: dict[str, ast.BinOp]  # of variables that are put together from others, by name


def by_name(returned: Returned, result: Any, differentiated: str = "") -> dict[str, Any]:
    """The scalars of a step's result by their names; the scalar that is differentiated, or called a loss, is "loss".

    Where only its terms are returned, it is their sum as the source has it. Of values that are on several replicas, the
    first replica's.
    """
    names = returned.names
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
    if differentiated not in scalars and differentiated in returned.formulas:
        whole = _value(returned.formulas[differentiated], scalars)
        if whole is not None:
            return {**scalars, "loss": whole}
    losses = [name for name in scalars if "loss" in name.lower()]
    loss = next((name for name in losses if "total" in name.lower()), losses[0] if losses else None)
    loss = differentiated if differentiated in scalars else loss
    if loss is not None and "loss" not in scalars:
        scalars["loss"] = scalars.pop(loss)
    return scalars


def handed_on(function: Any, result: Any) -> tuple[Any, Any]:
    """The user's own function, and what it returned, where a library (flax.nnx) has put one of its own around it: that
    returns the state of the models too."""
    own = getattr(function, "f", None)
    library = str(getattr(type(function), "__module__", "")).startswith("flax.")
    if not library or not callable(own) or not isinstance(result, tuple) or not result:
        return function, result
    return own, result[0] if len(result) == 2 else result[-1]


def read(function: Any) -> Returned:
    """From the function's last `return`, and its last assignments."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return Returned([], {})
    formulas = {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.BinOp)
    }
    returns = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None
    ]
    if not returns:
        return Returned([], formulas)
    parts = returns[-1].elts if isinstance(returns[-1], (ast.Tuple, ast.List)) else [returns[-1]]
    return Returned(
        [part.id if isinstance(part, ast.Name) else f"result {i}" for i, part in enumerate(parts)], formulas
    )


def _value(formula: ast.expr, scalars: dict[str, Any]) -> float | None:
    """None where anything but returned scalars and numbers is in it."""
    if isinstance(formula, ast.BinOp) and type(formula.op) in _OPERATIONS:
        left, right = _value(formula.left, scalars), _value(formula.right, scalars)
        if left is None or right is None or (isinstance(formula.op, ast.Div) and not right):
            return None
        return float(_OPERATIONS[type(formula.op)](left, right))
    if isinstance(formula, ast.Name) and formula.id in scalars:
        value = scalars[formula.id]
        return float(value) if finiteness.in_host_memory(value) else None
    if isinstance(formula, ast.Constant) and isinstance(formula.value, (int, float)):
        return float(formula.value)
    return None


def is_scalar(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return True
    kind = str(getattr(getattr(value, "dtype", None), "name", getattr(value, "dtype", "")))
    return "float" in kind and tuple(getattr(value, "shape", (1,)) or ()) == ()
