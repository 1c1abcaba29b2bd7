"""Whether weights and arrays are finite, checked only where that does not wait for a device."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .observed_data import ObservedData

_SENTINEL_SIZE = 4096
_ALWAYS_FIRST = 200  # steps after each of which the sentinel is checked: some milliseconds in all
_SURVEY_BYTES = 2 << 30
_CHUNK_VALUES = 1 << 22  # of an array, at a time
_ARRAYS_BUDGET_S = 1.0
_SHARE = 0.003  # of the time of a step that looking at the sentinel may take
_REVIEW_SHARE = 0.002  # of the training's time that looking at all weights may take


class Sentinel:
    """The last small trainable weight of a model: a gradient that is not finite reaches it at once.

    It is checked after each step, or after fewer when a step is short and its loss is like the one before, so
    that it is known whether the weights were still finite before the step whose loss was not.
    """

    def __init__(self, model: Any) -> None:
        weights = list(getattr(model, "trainable_variables", None) or [])
        small = next((weight for weight in weights[::-1] if _size(weight) <= _SENTINEL_SIZE), None)
        value = raw(small)
        self._read = reader(value) if small is not None and in_host_memory(value) else None
        self.name = str(getattr(small, "path", getattr(small, "name", ""))) if small is not None else ""
        self.last: bool | None = None  # None while not checked right after the last step
        self._cost_ns = 0
        self._skip = 0
        self._looks = 0
        self._loss = 0.0

    def check(self, step_ns: int, loss: float) -> bool:
        """False when a value is not finite. Leaves `last` unknown at a step that is skipped."""
        if self._read is None:
            return True
        before, self._loss = self._loss, loss
        alike = loss == before or 0.5 * abs(before) < abs(loss) < 2.0 * abs(before)
        if self._skip > 0 and self._looks >= _ALWAYS_FIRST and alike:
            self._skip -= 1
            self.last = None
            return True
        begun = time.thread_time_ns()  # its own work: being preempted on a busy machine is no cost of looking
        self._looks += 1
        self.last = all_finite(self._read())
        self._cost_ns = time.thread_time_ns() - begun
        if step_ns:
            self._skip = int(self._cost_ns / (_SHARE * step_ns))
        return self.last


def reader(value: Any) -> Callable[[], Any]:
    """`Variable.numpy` takes four times as long as the operation that it ends in."""
    operations = sys.modules.get("tensorflow.python.ops.gen_resource_variable_ops")
    value = component(value)
    handle = getattr(value, "handle", None)
    if hasattr(value, "detach"):  # torch has no bfloat16 in numpy
        return lambda: value.detach().float().numpy()
    if operations is None or handle is None:
        return lambda: value.numpy()
    return lambda: operations.read_variable_op(handle, value.dtype).numpy()


def all_finite(array: Any) -> bool:
    import numpy as np

    return bool(np.isfinite(array).all())


def small_gradient(gradients: Any) -> Any:
    """The last small one that is a value in host memory, or None: looking at it takes a microsecond or two."""
    for gradient in list(gradients or [])[::-1]:
        if gradient is not None and _size(gradient) <= _SENTINEL_SIZE and in_host_memory(gradient):
            return gradient
    return None


@dataclass
class FiniteCheck:
    weights: bool | None = None  # trainable ones
    statistics: bool | None = None  # others, such as the moving means of batch normalisation
    name: str = ""  # the first weight that is not finite


class PeriodicFiniteCheck:
    """All weights, at the end of an epoch: a ReLU makes 0 of NaN, so that a broken model may show a finite loss."""

    def __init__(self) -> None:
        self._not_before = 0.0

    def check(self, model: Any, now: float) -> FiniteCheck | None:
        """None while another look would cost more than it may."""
        if now < self._not_before:
            return None
        begun = time.thread_time()
        result = survey(model)
        self._not_before = now + (time.thread_time() - begun) / _REVIEW_SHARE
        return result


def survey(model: Any) -> FiniteCheck:
    """All weights, once. On JAX during an epoch the model's own variables are empty; the step's state has them."""
    state = getattr(model, "_jax_state", None)
    if isinstance(state, dict):
        trainable, other = state.get("trainable_variables"), state.get("non_trainable_variables")
    else:
        trainable = getattr(model, "trainable_variables", None)
        other = getattr(model, "non_trainable_variables", None)
    result = FiniteCheck()
    result.weights, result.name = _all_finite(trainable)
    result.statistics, _ = _all_finite(other)
    return result


def _all_finite(variables: Any) -> tuple[bool | None, str]:
    np: Any = sys.modules.get("numpy")
    if np is None:  # torch does without it
        return None, ""
    checked, spent = None, 0
    for index, variable in enumerate(variables or []):
        try:
            value = raw(variable)
            array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)  # torch
        except Exception:
            continue
        if array.dtype.kind != "f" and "float" not in str(array.dtype):
            continue
        spent += array.nbytes
        if spent > _SURVEY_BYTES:
            break
        if not bool(np.isfinite(array.astype("float32") if array.dtype.kind != "f" else array).all()):
            return False, str(
                getattr(variable, "path", None) or getattr(variable, "name", None) or f"weight {index}"
            )
        checked = True
    return checked, ""


def arrays_finite(data: ObservedData) -> bool | None:
    """Of the arrays that feed the fit, if arrays do: all of their values, within a bound."""
    import numpy as np

    if not data.has_all_arrays:
        return None
    begun = time.monotonic()
    for array in data.arrays:
        if array.dtype.kind != "f":
            continue
        rows = max(1, _CHUNK_VALUES // max(1, array[:1].size))
        for start in range(0, len(array), rows):
            if not bool(np.isfinite(array[start : start + rows]).all()):
                return False
            if time.monotonic() - begun > _ARRAYS_BUDGET_S:
                return None
    return True


def in_host_memory(value: Any) -> bool:
    """Whether the value can be read without waiting for a device. JAX computes in the background even on a CPU."""
    if isinstance(value, (int, float)):
        return True
    value = component(value)
    device = getattr(value, "device", None)
    if isinstance(device, str):  # TensorFlow
        return "CPU" in device and hasattr(value, "numpy")
    if hasattr(value, "detach"):  # torch, which computes at once on a CPU; NumPy has no sparse arrays
        return getattr(device, "type", "") == "cpu" and "strided" in str(getattr(value, "layout", "strided"))
    return type(value).__module__ == "numpy"


def component(value: Any) -> Any:
    """The first of what a strategy of tf.distribute keeps on each device; a value that is not distributed, itself."""
    parts = getattr(value, "_values", None) if "distribute" in type(value).__module__ else None
    return parts[0] if isinstance(parts, tuple) and parts else value


def raw(variable: Any) -> Any:
    return (
        getattr(variable, "value", variable) if not callable(getattr(variable, "value", None)) else variable
    )


def _size(variable: Any) -> int:
    total = 1
    for dimension in getattr(variable, "shape", None) or ():
        total *= int(dimension or 1)
    return total
