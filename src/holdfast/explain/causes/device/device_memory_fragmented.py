"""The GPU has enough free memory in total, but no free block is large enough."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.explain.readings.memory import gpu_refused
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_REQUESTED = re.compile(r"allocate ([\d.]+) ?([KMGT]?i?B|bytes)")
_TENSORFLOW_LIMIT, _TENSORFLOW_USED = re.compile(r"Limit:\s+(\d+)"), re.compile(r"InUse:\s+(\d+)")
_TORCH_IDLE = re.compile(r"([\d.]+) ?([KMGT]?i?B) is reserved by PyTorch but unallocated")
#: Lines of the output in which TensorFlow's allocator prints its statistics: a few hundred for a large pool.
_LAST_LINES = 600
#: Free memory as a multiple of the request from which fragmentation is the reason; closer, the rounding of
#: the allocator may be. Chosen.
_ENOUGH = 1.5


class _Pool(NamedTuple):
    """What the allocator printed; the limit and the use are None for torch, which names only the unused part."""

    free_bytes: float
    limit_bytes: int | None
    used_bytes: int | None


@cause("device-memory-fragmented", specialises=("script-error",))
def device_memory_fragmented(evidence: Evidence) -> Finding | None:
    quote = gpu_refused(evidence)
    if quote is None:
        return None
    printed = "\n".join(line.text for line in evidence.output.lines[-_LAST_LINES:])
    text = f"{printed}\n{evidence.error_text}"
    requested, pool = _bytes(_REQUESTED.search(text)), _tensorflow_pool(text) or _torch_pool(text)
    if not requested or pool is None or pool.free_bytes < _ENOUGH * requested:
        return None
    return Finding(
        Strength.SUPPORTED,
        Title("device-memory-fragmented", {"requested_bytes": requested, "free_bytes": pool.free_bytes}),
        because=[quote.fact, Fact("gpu.allocator", pool._asdict(), quote.source)],
        remedies=[Remedy("gpu.allocator-without-fragments", {"torch": pool.limit_bytes is None})],
        led_to="device-memory-exhausted",
    )


def _tensorflow_pool(text: str) -> _Pool | None:
    limit, used = _TENSORFLOW_LIMIT.search(text), _TENSORFLOW_USED.search(text)
    return _Pool(int(limit[1]) - int(used[1]), int(limit[1]), int(used[1])) if limit and used else None


def _torch_pool(text: str) -> _Pool | None:
    idle = _bytes(_TORCH_IDLE.search(text))
    return None if idle is None else _Pool(idle, None, None)


def _bytes(found: re.Match[str] | None) -> float | None:
    """Allocators print KB for 1024 bytes as well as KiB."""
    if found is None:
        return None
    unit = found[2][:1].upper()
    return float(found[1]) * 1024 ** " KMGT".find(unit) if unit in "KMGT" else float(found[1])
