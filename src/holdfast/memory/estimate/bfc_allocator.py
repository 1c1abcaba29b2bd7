"""The allocator that XLA and TensorFlow share on cards, followed step by step: it takes more than it is asked for.

"Best fit with coalescing": a free piece is handed out whole unless it is twice what was asked for, or 128 MiB
larger; its statistics count the whole piece. With a handful of vectors as long as all weights together, those
remainders add up to hundreds of megabytes. Pure.
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
    """A pool of `pool_bytes`, taken whole at the start, as JAX does unless told otherwise."""

    def __init__(self, pool_bytes: int = 1 << 50) -> None:
        whole = _Chunk(0, pool_bytes)
        self._pieces = {0: whole}  # by start
        self._before: dict[int, int] = {}  # start of the piece that ends where this one starts
        self._free: list[tuple[int, int]] = [(whole.size, 0)]  # by size, then place
        self.in_use = self.peak = 0

    def take(self, size: int) -> int | None:
        """Where it was put; None when no piece is large enough."""
        wanted = max(ROUNDING, -(-size // ROUNDING) * ROUNDING)
        place = bisect_left(self._free, (wanted, 0))
        if place == len(self._free):
            return None
        _, start = self._free.pop(place)
        piece = self._pieces[start]
        if piece.size >= 2 * wanted or piece.size - wanted >= LARGEST_REMAINDER:
            self._split(piece, wanted)
        piece.used = True
        self.in_use += piece.size
        self.peak = max(self.peak, self.in_use)
        return start

    def give(self, start: int) -> None:
        piece = self._pieces[start]
        piece.used = False
        self.in_use -= piece.size
        following = self._pieces.get(piece.start + piece.size)
        if following is not None and not following.used:
            self._unlist(following)
            self._join(piece, following)
        before = self._pieces.get(self._before.get(piece.start, -1))
        if before is not None and not before.used:
            self._unlist(before)
            self._join(before, piece)
            piece = before
        insort(self._free, (piece.size, piece.start))

    def _split(self, piece: _Chunk, wanted: int) -> None:
        rest = _Chunk(piece.start + wanted, piece.size - wanted)
        after = piece.start + piece.size
        piece.size = wanted
        self._pieces[rest.start] = rest
        self._before[rest.start] = piece.start
        if after in self._pieces:
            self._before[after] = rest.start
        insort(self._free, (rest.size, rest.start))

    def _join(self, first: _Chunk, second: _Chunk) -> None:
        first.size += second.size
        del self._pieces[second.start]
        self._before.pop(second.start, None)
        after = first.start + first.size
        if after in self._pieces:
            self._before[after] = first.start

    def _unlist(self, piece: _Chunk) -> None:
        self._free.pop(bisect_left(self._free, (piece.size, piece.start)))


@dataclass(frozen=True, slots=True)
class LoopAllocations:
    """What a training loop takes and gives, in bytes: each list is one array an entry."""

    model: Sequence[int]  # the Keras model's variables
    masks: Sequence[int]
    moving: Sequence[int]
    fixed: Sequence[int]
    results: Sequence[int]
    batch: Sequence[int]
    temp: int
    donated: bool = False


def simulate(traffic: LoopAllocations, *, pool_bytes: int = 1 << 50, steps: int = 4) -> int | None:
    """The allocator's peak over the first steps of the loop; None when the pool does not suffice.

    The order is that of the allocator's own log of a run on an H200 (XLA's `bfc_allocator=4`, jax 0.11.2).
    """
    pool = BfcAllocator(pool_bytes)

    def taken(sizes: Sequence[int]) -> list[int]:
        places = [pool.take(size) for size in sizes]
        if None in places:
            raise MemoryError
        return [place for place in places if place is not None]

    def given(places: Sequence[int]) -> None:
        for place in places:
            pool.give(place)

    try:
        for size in traffic.model:
            sent, _ = taken([size, size])  # sent over, and copied: the first is given back
            given([sent])
        taken(traffic.masks)
        state = taken(traffic.moving)
        before: list[int] = []
        held: list[int] = []
        for _ in range(steps):
            batch = taken(traffic.batch)
            results = taken(traffic.results)
            new = [] if traffic.donated else taken([*traffic.moving, *traffic.fixed])
            given([*taken([traffic.temp]), *batch])
            given([*before, *held])  # looked at the step before: its state and results go
            before, state, held = ([], state, results) if traffic.donated else (state, new, results)
    except MemoryError:
        return None
    return pool.peak
