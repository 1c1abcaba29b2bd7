"""A small sample of every trainable variable, read without waiting for a device and without copying the whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ..state import finiteness, model_facts

_MOST_VARIABLES = 100
_MOST_VALUES = 2048  # of each, at equal distances
_ROWS_COMPARED = 64  # of a kernel, to see whether all its units have the same weights
_MOST_OFF_HOST = 2_000_000  # values of a variable that is copied from a device, before and after a fit only
_EQUAL = 1e-4  # of the size of the weights; sums in another order let equal units drift apart by rounding


class Sampled(NamedTuple):
    """One variable at one time. `values` is a copy."""

    name: str
    layer: str
    size: int
    values: Any
    equal_units: bool | None
    constant: bool


def names_of(variable: Any) -> tuple[str, str]:
    """Of the variable and of its layer: "kernel", "dense_1". Keras 3 has paths, Keras 2 "dense_1/kernel:0"."""
    path = str(getattr(variable, "path", None) or getattr(variable, "name", "") or "")
    parts = path.split(":")[0].split("/")
    return parts[-1], parts[-2] if len(parts) > 1 else ""


def sample(model: Any, *, at_rest: bool) -> dict[int, Sampled]:
    """By the place of the variable. `at_rest`: no step is under way, so that waiting for a device costs nothing."""
    found: dict[int, Sampled] = {}
    try:
        variables = list(model.trainable_variables)
    except (AttributeError, ValueError):  # Keras 2, of a model that has no input shape yet
        return found
    for place, variable in enumerate(variables[:_MOST_VARIABLES]):
        read = reader_of(variable, at_rest)
        flat = read() if read is not None else None
        if flat is not None and flat.size and flat.dtype.kind == "f":
            name, layer = names_of(variable)
            shape = tuple(int(size or 0) for size in variable.shape)
            units_first = hasattr(variable, "requires_grad") and not hasattr(
                variable, "path"
            )  # torch's own layers
            found[place] = of_values(name, layer, flat, shape, units_first)
    return found


def of_values(name: str, layer: str, flat: Any, shape: tuple[int, ...], units_first: bool = False) -> Sampled:
    stride = max(1, flat.size // _MOST_VALUES)
    values = flat[::stride][:_MOST_VALUES].astype("float32")
    equal = None
    if len(shape) > 1 and shape[0 if units_first else -1] > 1:
        by_unit = flat.reshape(shape[0], -1).T if units_first else flat.reshape(-1, shape[-1])
        rows = by_unit[:_ROWS_COMPARED].astype("float32")
        scale = float(abs(rows).max())
        equal = bool((rows.max(axis=1) - rows.min(axis=1)).max() <= _EQUAL * scale)
    constant = bool(values.max() == values.min())
    return Sampled(name, layer, int(flat.size), values, equal, constant)


def reader_of(variable: Any, at_rest: bool) -> Callable[[], Any] | None:
    """Reads the variable as a flat array without a copy where the framework allows; None where it would wait."""
    if getattr(variable, "_value", variable) is None:  # on JAX in the middle of an epoch
        return None
    value = finiteness.component(finiteness.raw(variable))
    if finiteness.in_host_memory(value):
        return lambda: _flat(value)
    if at_rest and model_facts.size(variable) <= _MOST_OFF_HOST:
        return lambda: _flat(value)
    return None


def _flat(value: Any) -> Any:
    import numpy as np

    if hasattr(value, "detach"):  # torch has no bfloat16 in numpy
        array = value.detach().float().cpu().numpy()
    else:
        operations = sys.modules.get("tensorflow.python.ops.gen_resource_variable_ops")
        handle = getattr(value, "handle", None)
        if operations is not None and handle is not None:
            value = operations.read_variable_op(handle, value.dtype)
        view = getattr(value, "_numpy", None)  # `numpy` copies
        array = view() if view is not None else np.asarray(value)
    array = np.asarray(array)
    return (array if array.dtype.kind == "f" else array.astype("float32")).reshape(-1)
