"""The GPU has enough free memory in total, but no free block is large enough."""

import re

from holdfast.explain.readings.memory import gpu_refused
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_REQUESTED = re.compile(r"allocate ([\d.]+) ?([KMGT]?i?B|bytes)")
_TENSORFLOW_LIMIT, _TENSORFLOW_USED = re.compile(r"Limit:\s+(\d+)"), re.compile(r"InUse:\s+(\d+)")
#: torch names only the unused part of its pool.
_TORCH_IDLE = re.compile(r"(?<![\d.])([\d.]+) ?([KMGT]?i?B) is reserved by PyTorch but unallocated")
#: Lines of the output in which TensorFlow's allocator prints its statistics: a few hundred for a large pool.
_LAST_LINES = 600
#: Free memory as a multiple of the request from which fragmentation is the reason; closer, the rounding of
#: the allocator may be. Chosen.
_ENOUGH = 1.5


@cause("device-memory-fragmented", specialises=("script-error",))
def device_memory_fragmented(evidence: Evidence) -> Finding | None:
    quote = gpu_refused(evidence)
    if quote is None:
        return None
    printed = "\n".join(line.text for line in evidence.output.lines[-_LAST_LINES:])
    text = f"{printed}\n{evidence.error_text}"
    limit, used = (pattern.search(text) for pattern in (_TENSORFLOW_LIMIT, _TENSORFLOW_USED))
    pool = {"free_bytes": _bytes(_TORCH_IDLE.search(text)), "limit_bytes": None, "used_bytes": None}
    if limit and used:
        allowed, taken = int(limit[1]), int(used[1])
        pool = {"free_bytes": allowed - taken, "limit_bytes": allowed, "used_bytes": taken}
    requested, free = _bytes(_REQUESTED.search(text)), pool["free_bytes"]
    if not requested or free is None or free < _ENOUGH * requested:
        return None
    return Finding(
        Strength.SUPPORTED,
        Title("device-memory-fragmented", {"requested_bytes": requested, "free_bytes": free}),
        because=[quote.fact, Fact("gpu.allocator", pool, quote.source)],
        remedies=[Remedy("gpu.allocator-without-fragments", {"torch": pool["limit_bytes"] is None})],
        led_to="device-memory-exhausted",
    )


def _bytes(found: re.Match[str] | None) -> float | None:
    """Allocators print KB for 1024 bytes as well as KiB."""
    if found is None:
        return None
    unit = found[2][:1].upper()
    return float(found[1]) * 1024 ** " KMGT".find(unit) if unit in "KMGT" else float(found[1])
