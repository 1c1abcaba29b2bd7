"""The rates of dropout in the traced program of a JAX step.

A dropout draws from a Bernoulli distribution which values are kept, and divides them by the share that is kept. JAX's
program has both: a function called `_bernoulli` with that share, and a division by the same number.
"""

from __future__ import annotations

from typing import Any

_MOST_OPERATIONS = 20_000
_CALLS = ("jit", "pjit")
_SAME = 1e-4  # the share is a number of Python's, of float32 or of bfloat16


def rates(jaxpr: Any) -> list[float]:
    """In the order of the program."""
    kept: list[float] = []
    scales: list[float] = []
    left = _MOST_OPERATIONS
    pending = [jaxpr]
    while pending and left > 0:
        for one in pending.pop(0).eqns:
            left -= 1
            name, params = str(one.primitive), one.params
            if name in _CALLS and params.get("name") == "_bernoulli":
                kept += [
                    value for value in map(_number, one.invars) if value is not None and 0.0 < value < 1.0
                ]
                continue
            if name in ("div", "mul") and len(one.invars) == 2:
                number = _number(one.invars[1]) or (_number(one.invars[0]) if name == "mul" else None)
                if number:
                    scales.append(number if name == "div" else 1.0 / number)
            pending += [inner for value in params.values() for inner in _inner(value)]
    return [round(1.0 - one, 4) for one in kept if any(abs(one - scale) <= _SAME * one for scale in scales)]


def _number(operand: Any) -> float | None:
    """Of a literal in the program; None of what is computed."""
    value = getattr(operand, "val", None)
    if value is None or getattr(value, "shape", ()) not in ((), None):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _inner(value: Any) -> list[Any]:
    """The programs among the parameters of an operation."""
    found = []
    for one in value if isinstance(value, (tuple, list)) else (value,):
        closed = getattr(one, "jaxpr", one)
        if hasattr(closed, "eqns"):
            found.append(closed)
    return found
