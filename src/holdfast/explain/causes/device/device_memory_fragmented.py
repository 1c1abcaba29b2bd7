"""The GPU has enough free memory in all, but not in one piece."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, gpu_refused
from holdfast.explain.words import size


@cause("device-memory-fragmented", Group.DEVICE, specialises=("script-error",))
def device_memory_fragmented(evidence: Evidence) -> Finding | None:
    said = gpu_refused(evidence)
    if said is None:
        return None
    text = "\n".join(line.text for line in evidence.output.lines[-600:]) + "\n" + evidence.error_text
    asked = _bytes(re.search(r"allocate ([\d.]+) ?([KMGT]?i?B|bytes)", text))
    pool = _tensorflow_pool(text) or _torch_pool(text)
    if not asked or pool is None or pool.free < 1.5 * asked:
        return None
    return Finding(
        "device-memory-fragmented",
        Strength.SUPPORTED,
        f"{size(asked)} were refused although {size(pool.free)} were free, in pieces",
        (said[1], Fact(f"the allocator's own figures: {pool.figures}", said[1].source)),
        (),
        (Remedy("let the allocator move its pieces together", "your-choice", pool.cure),),
        led_to="device-memory-exhausted",
    )


@dataclass(frozen=True, slots=True)
class _Pool:
    free: float
    figures: str
    cure: str


def _tensorflow_pool(text: str) -> _Pool | None:
    limit, used = re.search(r"Limit:\s+(\d+)", text), re.search(r"InUse:\s+(\d+)", text)
    if not (limit and used):
        return None
    figures = f"limit {size(int(limit[1]))}, in use {size(int(used[1]))}"
    return _Pool(int(limit[1]) - int(used[1]), figures, "TF_GPU_ALLOCATOR=cuda_malloc_async")


def _torch_pool(text: str) -> _Pool | None:
    idle = _bytes(re.search(r"([\d.]+) ?([KMGT]?i?B) is reserved by PyTorch but unallocated", text))
    if idle is None:
        return None
    return _Pool(
        idle, f"{size(idle)} reserved and not in use", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    )


def _bytes(found: re.Match[str] | None) -> float | None:
    if found is None:
        return None
    unit = found[2][:1].upper()
    return float(found[1]) * 1024 ** " KMGT".find(unit) if unit in "KMGT" else float(found[1])
