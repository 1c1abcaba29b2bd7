"""Gradients that the user's own code takes with `jax.grad` and `jax.value_and_grad`.

One of a single array may be anything (a field's slope, an attack on a picture); one of a set of arrays is a
gradient of weights.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..runtime import user_lines
from ..runtime.context import ProbeContext

PART = "jaxsteps"
_FEWEST_ARRAYS = 2
Told = Callable[[list[Any], Any], None]


def hook(session: ProbeContext, module: Any, told: Told) -> None:
    for name, has_value in (("grad", False), ("value_and_grad", True)):
        setattr(module, name, _telling(session, getattr(module, name), has_value, told))


def _telling(session: ProbeContext, original: Callable[..., Any], has_value: bool, told: Told) -> Any:
    @functools.wraps(original)
    def made_for_user(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        if not user_lines.is_user_file(sys._getframe(1).f_code.co_filename):
            return made
        has_aux = bool(kwargs.get("has_aux"))

        @functools.wraps(made)
        def gradient(*given: Any, **named: Any) -> Any:
            result = made(*given, **named)
            if session.on(PART):
                session.guard(PART, _taken, result, has_value, has_aux, told)
            return result

        return gradient

    made_for_user.__module__ = "jax"  # where it can be found under its name, as pickle wants it
    return made_for_user


def _taken(result: Any, has_value: bool, has_aux: bool, told: Told) -> None:
    loss = None
    if has_value:
        loss, slopes = result
        loss = loss[0] if has_aux else loss
    else:
        slopes = result[0] if has_aux else result
    leaves = _leaves(slopes)
    if len(leaves) >= _FEWEST_ARRAYS:
        told(leaves, loss)


def shapes(arrays: list[Any]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(array.shape) for array in arrays if hasattr(array, "shape"))


def traced(arrays: list[Any]) -> bool:
    """Whether these stand for numbers that are not there yet."""
    return any(isinstance(array, sys.modules["jax"].core.Tracer) for array in arrays)


def come_out(wanted: tuple[tuple[int, ...], ...], result: Any) -> bool:
    """Whether a function returns arrays of these shapes: new weights, or the gradient itself."""
    return not Counter(wanted) - Counter(shapes(_leaves(result)))


def _leaves(tree: Any) -> list[Any]:
    return list(sys.modules["jax"].tree_util.tree_leaves(tree))
