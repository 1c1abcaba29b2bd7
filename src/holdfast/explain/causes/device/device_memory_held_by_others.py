"""Other processes were using the GPU's memory before this run began."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.readings.memory import gpu_refused
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_NO_HANDLE = ErrorText(
    r"Could not create cudnn handle|CUDNN_STATUS_(INTERNAL|NOT_INITIALIZED|ALLOC)|"
    r"Failed to get convolution algorithm|cublas.*(create|ALLOC)",
    re.IGNORECASE,
)
#: Shares of a GPU's memory in use before the run. A driver and a display take a few percent; half leaves too little
#: for a training that would fit on the empty GPU. Chosen.
_TAKEN, _MOSTLY_TAKEN, _FREE = 0.2, 0.5, 0.1


class _Gpu(NamedTuple):
    used_bytes: float
    total_bytes: float
    processes: list[dict[str, Any]]


@cause("device-memory-held-by-others", specialises=("script-error",))
def device_memory_held_by_others(evidence: Evidence) -> Finding | None:
    machine, refused = evidence.last(ev.MachineRead), gpu_refused(evidence)
    quote = refused or _NO_HANDLE.match(evidence)
    if quote is None or machine is None:
        return None
    gpus = _visible(evidence, [_gpu(one) for one in machine.event.gpus])
    taken = [gpu for gpu in gpus if gpu.total_bytes and gpu.used_bytes > _TAKEN * gpu.total_bytes]
    if not taken:
        return None
    worst = max(taken, key=lambda gpu: gpu.used_bytes)
    other_free = any(gpu.used_bytes < _FREE * worst.total_bytes for gpu in gpus)
    certain = worst.used_bytes > _MOSTLY_TAKEN * worst.total_bytes
    values = {"used_bytes": worst.used_bytes, "total_bytes": worst.total_bytes}
    facts = [quote.fact, Fact("gpu.used-before", {**values, "processes": worst.processes}, machine.source)]
    strength = Strength.ESTABLISHED if certain else Strength.SUPPORTED
    return Finding(
        Strength.POSSIBLE if other_free else strength,  # which GPU ran out is not known
        Title("device-memory-held-by-others", values),
        because=tuple(facts),
        remedies=(
            Remedy("gpu.end-other-processes"),
            Remedy("gpu.use-another") if other_free else Remedy("gpu.grow-memory"),
        ),
        led_to="device-memory-exhausted" if refused is not None else None,
    )


def _gpu(read: dict[str, Any]) -> _Gpu:
    processes = [
        {"name": one.get("name") or "process", "pid": one.get("pid"), "bytes": number_of(one.get("bytes"))}
        for one in read.get("processes", [])
    ]
    return _Gpu(
        number_of(read.get("used_bytes")) or 0.0, number_of(read.get("total_bytes")) or 0.0, processes
    )


def _visible(evidence: Evidence, gpus: list[_Gpu]) -> list[_Gpu]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves to the run, where it names them by their numbers."""
    set_to = [one.event.environment.get("CUDA_VISIBLE_DEVICES") for one in evidence.all(ev.FrameworkSeen)]
    wanted = next((value for value in reversed(set_to) if value), "")
    numbers = [int(one) for one in wanted.split(",") if one.strip().isdigit()]
    return [gpus[one] for one in numbers if one < len(gpus)] or gpus
