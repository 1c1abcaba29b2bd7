"""Other processes were using the GPU's memory before this run began."""

import re
from typing import Any

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.readings.memory import gpu_refused
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev

_NO_HANDLE = ErrorText(
    r"Could not create cudnn handle|CUDNN_STATUS_(INTERNAL|NOT_INITIALIZED|ALLOC)|"
    r"Failed to get convolution algorithm|cublas.*(create|ALLOC)",
    re.IGNORECASE,
)
#: Shares of a GPU's memory in use before the run. A driver and a display take a few percent; half leaves too little
#: for a training that would fit on the empty GPU. Chosen.
_TAKEN, _MOSTLY_TAKEN, _FREE = 0.2, 0.5, 0.1


@cause("device-memory-held-by-others", specialises=("script-error",))
def device_memory_held_by_others(evidence: Evidence) -> Finding | None:
    machine, refused = evidence.last(ev.MachineRead), gpu_refused(evidence)
    quote = refused or _NO_HANDLE.match(evidence)
    if quote is None or machine is None:
        return None
    gpus = _visible(evidence, machine.event.gpus)
    taken = [gpu for gpu in gpus if 0 < _TAKEN * _bytes(gpu, "total") < _bytes(gpu)]
    if not taken:
        return None
    worst = max(taken, key=_bytes)
    used, total = _bytes(worst), _bytes(worst, "total")
    values = {"used_bytes": used, "total_bytes": total}
    processes = [
        {"name": one.get("name") or "process", "pid": one.get("pid"), "bytes": number_of(one.get("bytes"))}
        for one in worst.get("processes", [])
    ]
    facts = [quote.fact, machine.fact("gpu.used-before", **values, processes=processes)]
    strength = Strength.established_if(used > _MOSTLY_TAKEN * total)
    other = Remedy("gpu.grow-memory")
    if any(_bytes(gpu) < _FREE * total for gpu in gpus):  # which GPU ran out is not known
        strength, other = Strength.POSSIBLE, Remedy("gpu.use-another")
    title = Title("device-memory-held-by-others", values)
    led_to = "device-memory-exhausted" if refused is not None else None
    return Finding(strength, title, facts, [Remedy("gpu.end-other-processes"), other], led_to=led_to)


def _bytes(gpu: dict[str, Any], which: str = "used") -> float:
    return number_of(gpu.get(f"{which}_bytes")) or 0.0


def _visible(evidence: Evidence, gpus: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves to the run, where it names them by their numbers."""
    set_to = [one.event.environment.get("CUDA_VISIBLE_DEVICES") for one in evidence.all(ev.FrameworkSeen)]
    wanted = next((value for value in reversed(set_to) if value), "")
    numbers = [int(one) for one in wanted.split(",") if one.strip().isdigit()]
    return [gpus[one] for one in numbers if one < len(gpus)] or gpus
