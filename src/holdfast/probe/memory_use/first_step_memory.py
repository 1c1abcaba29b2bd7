"""The memory that the first steps of a fit took, and its known parts: weights, gradients, optimizer.

Measured once, by the background thread. Nothing is added to a step.
"""

from __future__ import annotations

import sys
from typing import Any

from ...journal.events import FootprintMeasured
from ..runtime.context import ProbeContext
from ..state import model_facts

PART = "first_step_memory"
_AFTER_STEPS = 2


class FirstStepMemory:
    def __init__(self, context: ProbeContext, model: Any) -> None:
        self._context, self._model = context, model

    def poll(self, now: float) -> None:
        if self._model is None or self._context.heartbeat.step < _AFTER_STEPS:
            return
        model, self._model = self._model, None
        self._context.record(measured(model))


def measured(model: Any) -> FootprintMeasured:
    optimizer = getattr(model, "optimizer", None)
    own = getattr(optimizer, "variables", ())
    own = own() if callable(own) else own
    peak_bytes, limit_bytes = gpu_peak()
    return FootprintMeasured(
        weights_bytes=_bytes(getattr(model, "variables", ())),
        gradients_bytes=_bytes(getattr(model, "trainable_variables", ())),
        optimizer_bytes=_bytes(own),
        gpu_peak_bytes=peak_bytes,
        gpu_limit_bytes=limit_bytes,
        host_peak_bytes=host_peak(),
    )


def gpu_peak() -> tuple[int | None, int | None]:
    """The allocator's own peak on the first GPU, and its limit, by whichever framework is loaded and has one."""
    jax = sys.modules.get("jax")
    if jax is not None and getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None):
        stats = jax.devices()[0].memory_stats()
        if stats:
            return stats.get("peak_bytes_in_use"), stats.get("bytes_limit")
    tensorflow = sys.modules.get("tensorflow")
    config = getattr(tensorflow, "config", None)
    if config is not None and config.list_logical_devices("GPU"):
        return config.experimental.get_memory_info("GPU:0")["peak"], None
    return None, None


def host_peak() -> int:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def _bytes(variables: Any) -> int:
    return sum(model_facts.size(one) * _width(one) for one in variables)


def _width(variable: Any) -> int:
    """Bytes of one number, by its type's name: "float32", "<dtype: 'bfloat16'>"."""
    name = str(getattr(variable, "dtype", "float32"))
    for bits, width in (("64", 8), ("16", 2), ("int8", 1), ("bool", 1)):
        if bits in name:
            return width
    return 4
