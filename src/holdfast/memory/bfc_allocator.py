"""A simulation of the GPU allocator of XLA and TensorFlow, which takes more than is requested.

"Best fit with coalescing": a free chunk is used without splitting unless it is twice the request, or 128 MiB larger;
its statistics count the entire chunk. With a handful of vectors as long as all weights together, those remainders add
up to hundreds of megabytes. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

ROUNDING = 256
LARGEST_REMAINDER = 128 * 2**20


@dataclass(slots=True)
class _Chunk:
    start: int
    size: int
    used: bool = False


class BfcAllocator:
    """A pool of `pool_bytes`, reserved at the start, as JAX does by default."""

    def __init__(self, pool_bytes: int = 1 << 50) -> None:
        pool = _Chunk(0, pool_bytes)
        self._chunks = {0: pool}  # by start
        self._before: dict[int, int] = {}  # start of the chunk that ends where this one starts
        self._free: list[tuple[int, int]] = [(pool.size, 0)]  # by size, then start
        self.in_use = self.peak = 0

    def allocate(self, size: int) -> int | None:
        """Its start; None when no chunk is large enough."""
        wanted = max(ROUNDING, -(-size // ROUNDING) * ROUNDING)
        index = bisect_left(self._free, (wanted, 0))
        if index == len(self._free):
            return None
        _, start = self._free.pop(index)
        chunk = self._chunks[start]
        if chunk.size >= 2 * wanted or chunk.size - wanted >= LARGEST_REMAINDER:
            self._split(chunk, wanted)
        chunk.used = True
        self.in_use += chunk.size
        self.peak = max(self.peak, self.in_use)
        return start

    def free(self, start: int) -> None:
        chunk = self._chunks[start]
        chunk.used = False
        self.in_use -= chunk.size
        following = self._chunks.get(chunk.start + chunk.size)
        if following is not None and not following.used:
            self._unlist(following)
            self._join(chunk, following)
        before = self._chunks.get(self._before.get(chunk.start, -1))
        if before is not None and not before.used:
            self._unlist(before)
            self._join(before, chunk)
            chunk = before
        insort(self._free, (chunk.size, chunk.start))

    def _split(self, chunk: _Chunk, wanted: int) -> None:
        rest = _Chunk(chunk.start + wanted, chunk.size - wanted)
        after = chunk.start + chunk.size
        chunk.size = wanted
        self._chunks[rest.start] = rest
        self._before[rest.start] = chunk.start
        if after in self._chunks:
            self._before[after] = rest.start
        insort(self._free, (rest.size, rest.start))

    def _join(self, first: _Chunk, second: _Chunk) -> None:
        first.size += second.size
        del self._chunks[second.start]
        self._before.pop(second.start, None)
        after = first.start + first.size
        if after in self._chunks:
            self._before[after] = first.start

    def _unlist(self, chunk: _Chunk) -> None:
        self._free.pop(bisect_left(self._free, (chunk.size, chunk.start)))


@dataclass(frozen=True, slots=True)
class LoopAllocations:
    """What a training loop allocates, in bytes: each list has one entry per array."""

    model: Sequence[int]  # the Keras model's variables
    masks: Sequence[int]
    optimizer_state: Sequence[int]
    fixed: Sequence[int]
    results: Sequence[int]
    batch: Sequence[int]
    temporaries: int
    donated: bool = False


def simulate(loop: LoopAllocations, *, pool_bytes: int = 1 << 50, steps: int = 4) -> int | None:
    """The allocator's peak over the first steps of the loop; None when the pool is too small.

    The order is that of the allocator's own log of a run on an H200 (XLA's `bfc_allocator=4`, jax 0.11.2).
    """
    pool = BfcAllocator(pool_bytes)

    def allocate(sizes: Sequence[int]) -> list[int]:
        starts = [pool.allocate(size) for size in sizes]
        if None in starts:
            raise MemoryError
        return [start for start in starts if start is not None]

    def free(starts: Sequence[int]) -> None:
        for start in starts:
            pool.free(start)

    try:
        for size in loop.model:
            sent, _ = allocate([size, size])  # transferred, then copied; the first is freed
            free([sent])
        allocate(loop.masks)
        state = allocate(loop.optimizer_state)
        before: list[int] = []
        results_before: list[int] = []
        for _ in range(steps):
            batch = allocate(loop.batch)
            results = allocate(loop.results)
            new = [] if loop.donated else allocate([*loop.optimizer_state, *loop.fixed])
            free([*allocate([loop.temporaries]), *batch])
            free([*before, *results_before])  # the step before was fetched: its state and results are freed
            before, state, results_before = ([], state, results) if loop.donated else (state, new, results)
    except MemoryError:
        return None
    return pool.peak
