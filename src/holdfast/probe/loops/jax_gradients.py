"""Gradients that the user's own code takes with `jax.grad` and `jax.value_and_grad`.

One of a single array may be anything (a field's slope, an attack on an image); one of a set of arrays is a
gradient of weights.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from typing import Any, Callable, List

from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.wrapping import Function, replace

PART = "jax_gradients"
_FEWEST_ARRAYS = 2
_SMALL, _MOST_SMALL = 4_096, 8
#: Modules of libraries that give a function of the user's to JAX, in a function of their own.
_HAND_ON = ("flax.nnx.transforms.compilation", "flax.nnx.transforms.autodiff")
GradientTaken = Callable[[List[Any], Any], None]


def hook(context: ProbeContext, module: Any, taken: GradientTaken) -> None:
    """`taken` gets the gradient's arrays and the loss, where it is known."""
    replace(module, "grad", lambda original: _observed(context, original, False, taken))
    replace(module, "value_and_grad", lambda original: _observed(context, original, True, taken))


def _observed(context: ProbeContext, original: Function, has_value: bool, taken: GradientTaken) -> Function:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        function = original(*args, **kwargs)
        if not of_the_user(sys._getframe(1)):
            return function
        has_aux = bool(kwargs.get("has_aux"))

        @functools.wraps(function)
        def gradient(*given: Any, **named: Any) -> Any:
            result = function(*given, **named)
            context.guard(PART, _report, result, has_value, has_aux, taken)
            return result

        return gradient

    return wrapped


def of_the_user(frame: Any) -> bool:
    """The code that calls is the user's own, or hands on a function of the user's."""
    handed_on = frame.f_globals.get("__name__") in _HAND_ON
    return handed_on or user_lines.is_user_file(frame.f_code.co_filename)


def _report(result: Any, has_value: bool, has_aux: bool, taken: GradientTaken) -> None:
    loss = None
    if has_value:
        loss, slopes = result
        loss = loss[0] if has_aux else loss
    else:
        slopes = result[0] if has_aux else result
    leaves = _leaves(slopes)
    if len(leaves) >= _FEWEST_ARRAYS:
        taken(leaves, loss)


def shapes(arrays: list[Any]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(array.shape) for array in arrays if hasattr(array, "shape"))


def small(arrays: list[Any]) -> list[Any]:
    """The last few that cost nothing to keep."""
    return [one for one in arrays if 0 < getattr(one, "size", 0) <= _SMALL][-_MOST_SMALL:]


def traced(arrays: list[Any]) -> bool:
    """Whether these are symbols of a function that is being traced."""
    return any(isinstance(array, sys.modules["jax"].core.Tracer) for array in arrays)


def come_out(wanted: tuple[tuple[int, ...], ...], result: Any) -> bool:
    """Whether a function returns arrays of these shapes: new weights, or the gradient itself."""
    return not Counter(wanted) - Counter(shapes(_leaves(result)))


def _leaves(tree: Any) -> list[Any]:
    return list(sys.modules["jax"].tree_util.tree_leaves(tree))
