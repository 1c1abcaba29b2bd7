"""The largest micro-batch that fits: the full batch, else by a line through two estimates. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.memory.breakdown import MemoryBreakdown

EstimateSizes = Callable[[list[int]], list[MemoryBreakdown]]  # of micro-batches of one batch
MAX_ESTIMATES = 4  # after the two that define the line


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`micro_batch` is None when not even the smallest fits; `breakdown` is then that of the smallest."""

    micro_batch: int | None
    breakdown: MemoryBreakdown


def divisors(batch: int) -> list[int]:
    return [size for size in range(1, batch + 1) if batch % size == 0]


def largest_micro_batch(batch: int, memory_bytes: int, estimate: EstimateSizes) -> SearchResult:
    """Compiling takes as long for one image as for many, so the full batch, which usually fits, comes first."""
    sizes, estimates = divisors(batch), {batch: estimate([batch])[0]}
    if estimates[batch].fits(memory_bytes) == "fits":
        return SearchResult(batch, estimates[batch])
    if batch > 1:
        estimates[1] = estimate([1])[0]
    if estimates[1].fits(memory_bytes) != "fits":
        return SearchResult(None, estimates[1])
    candidate = _size_by_line(sizes, estimates, memory_bytes)
    for _ in range(MAX_ESTIMATES):
        if candidate not in estimates:
            estimates[candidate] = estimate([candidate])[0]
        if estimates[candidate].fits(memory_bytes) == "fits":
            larger = [size for size in sizes if size > candidate]
            if not larger or larger[0] in estimates:
                break
            if not _might_fit(larger[0], estimates, memory_bytes):
                break
            candidate = larger[0]
        else:
            candidate = max(size for size in sizes if size < candidate)
    best = max(size for size, breakdown in estimates.items() if breakdown.fits(memory_bytes) == "fits")
    return SearchResult(best, estimates[best])


def _size_by_line(sizes: list[int], estimates: dict[int, MemoryBreakdown], memory_bytes: int) -> int:
    fitting = [size for size in sizes if _on_line(size, estimates) <= memory_bytes]
    return max(fitting, default=1)


def _on_line(size: int, estimates: dict[int, MemoryBreakdown]) -> float:
    """The upper total of a micro-batch, by the line through the smallest and the largest that were estimated."""
    low, high = min(estimates), max(estimates)
    at_low, at_high = (estimates[size].upper_total_bytes for size in (low, high))
    slope = (at_high - at_low) / (high - low) if high > low else 0.0
    return at_low + slope * (size - low)


def _might_fit(size: int, estimates: dict[int, MemoryBreakdown], memory_bytes: int) -> bool:
    """Within 5 %, by which batches were measured to deviate from the line."""
    return _on_line(size, estimates) <= memory_bytes * 1.05
