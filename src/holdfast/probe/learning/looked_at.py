"""Whether a model may be looked at: what it is made of, the memory that is free, and silence while it is done."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from ..runtime import user_lines

_LOGGERS = ("tensorflow", "absl", "jax")


def refusal(model: Any) -> str:
    """Which code of the user's own the model would run; "" if none."""
    for layer in [model, *list(model._flatten_layers(include_self=False))]:
        for name in ("call", "__call__"):
            if is_users(getattr(type(layer), name, None)):
                return f"{type(layer).__name__} is a class of your own"
        for name in (
            "function",
            "activation",
            "kernel_regularizer",
            "bias_regularizer",
            "activity_regularizer",
        ):
            if is_users(getattr(layer, name, None)):
                return f"{name} of {getattr(layer, 'name', '')} is a function of your own"
    return ""


def is_users(function: Any) -> bool:
    """A function, a method, or an object with a `call`, written in the user's files."""
    if function is None or isinstance(function, str):
        return False
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if not isinstance(code, CodeType):
        own = [vars(kind).get(name) for kind in type(function).__mro__ for name in ("call", "__call__")]
        code = next((one.__code__ for one in own if one is not None and hasattr(one, "__code__")), None)
    return isinstance(code, CodeType) and user_lines.is_user_file(code.co_filename)


def values_per_row(layers: list[Any]) -> int:
    """That layers give for one row, as far as their shapes are known; twice, for the gradients."""
    total = 0
    for layer in layers:
        try:
            shape = layer.output.shape
        except Exception:  # called several times, or never
            continue
        size = 1
        for dimension in list(shape)[1:]:
            size *= int(dimension or 64)
        total += size
    return 2 * total


def free_bytes() -> int | None:
    """Of the machine and of the control group, whichever is less."""
    known = [_meminfo(), _cgroup()]
    return min([one for one in known if one is not None], default=None)


def _meminfo() -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _cgroup() -> int | None:
    for root, limit, usage in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError):
            return int(Path(root, limit).read_text()) - int(Path(root, usage).read_text())
    return None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warning and no line of a framework's log by what is done here."""
    import logging

    loggers = [logging.getLogger(name) for name in _LOGGERS if name in logging.Logger.manager.loggerDict]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, disabled in zip(loggers, before):
            logger.disabled = disabled


def activation_of(layer: Any) -> str:
    """relu, sigmoid, … of the layer, or of a layer that is nothing but an activation."""
    kind = type(layer).__name__
    if kind in _ACTIVATION_LAYERS:
        return _ACTIVATION_LAYERS[kind]
    function = getattr(layer, "activation", None)
    if function is None:
        return ""
    return str(
        getattr(function, "__name__", "") or getattr(function, "name", "") or type(function).__name__
    ).lower()


_ACTIVATION_LAYERS = {
    "ReLU": "relu",
    "LeakyReLU": "leaky_relu",
    "PReLU": "leaky_relu",
    "ELU": "elu",
    "ThresholdedReLU": "relu",
    "Softmax": "softmax",
}
