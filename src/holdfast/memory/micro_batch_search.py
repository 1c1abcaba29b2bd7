"""The largest micro-batch that fits: the whole batch, else a line through two, and the chosen one compiled. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.memory.breakdown import MemoryBreakdown

EstimateSizes = Callable[[list[int]], list[MemoryBreakdown]]  # of micro-batches of one batch
MAX_ESTIMATES = 4  # after the two that give the line


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`micro_batch` is None when not even the smallest fits; `account` is then that of the smallest."""

    micro_batch: int | None
    account: MemoryBreakdown


def divisors(batch: int) -> list[int]:
    return [size for size in range(1, batch + 1) if batch % size == 0]


def largest_micro_batch(batch: int, memory_bytes: int, price: EstimateSizes) -> SearchResult:
    """A compilation takes as long for one picture as for many, so the whole batch, which usually fits, comes first."""
    sizes, priced = divisors(batch), {batch: price([batch])[0]}
    if priced[batch].judge(memory_bytes) == "fits":
        return SearchResult(batch, priced[batch])
    if batch > 1:
        priced[1] = price([1])[0]
    if priced[1].judge(memory_bytes) != "fits":
        return SearchResult(None, priced[1])
    candidate = _size_by_line(sizes, priced, memory_bytes)
    for _ in range(MAX_ESTIMATES):
        if candidate not in priced:
            priced[candidate] = price([candidate])[0]
        if priced[candidate].judge(memory_bytes) == "fits":
            larger = [size for size in sizes if size > candidate]
            if not larger or larger[0] in priced:
                break
            if not _might_fit(larger[0], priced, memory_bytes):
                break
            candidate = larger[0]
        else:
            candidate = max(size for size in sizes if size < candidate)
    best = max(size for size, account in priced.items() if account.judge(memory_bytes) == "fits")
    return SearchResult(best, priced[best])


def _size_by_line(sizes: list[int], priced: dict[int, MemoryBreakdown], memory_bytes: int) -> int:
    fitting = [size for size in sizes if _on_line(size, priced) <= memory_bytes]
    return max(fitting, default=1)


def _on_line(size: int, priced: dict[int, MemoryBreakdown]) -> float:
    """The upper total of a micro-batch by the line through the two outermost priced ones."""
    low, high = min(priced), max(priced)
    at_low, at_high = (priced[one].upper_step_bytes + priced[one].outside_bytes for one in (low, high))
    slope = (at_high - at_low) / (high - low) if high > low else 0.0
    return at_low + slope * (size - low)


def _might_fit(size: int, priced: dict[int, MemoryBreakdown], memory_bytes: int) -> bool:
    """Within 5 %, by which batches were seen to leave the line."""
    return _on_line(size, priced) <= memory_bytes * 1.05
