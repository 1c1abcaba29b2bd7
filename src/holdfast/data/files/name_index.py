"""Where in a long list a name is, and which come twice: by digests of eight bytes, on disk where they are many."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np

from holdfast.data.files.packed_list import ByteStore, sent, writable

BLOCK = 1 << 16


def digest_of(text: str) -> int:
    """64 bits, the same in every process."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def repeated_digests(digests: Iterable[int]) -> set[int]:
    """Those that come more than once."""
    store = ByteStore()
    for digest in digests:
        store.add(digest.to_bytes(8, "little"))
    in_order = np.sort(np.frombuffer(store.view(), "<u8"))
    return set(in_order[1:][in_order[1:] == in_order[:-1]].tolist())


class NameSet:
    """Names that were added, by their digests: 14 to 28 bytes each, on disk where they are many."""

    def __init__(self) -> None:
        self._table, self._count = writable(8 << 10).cast("Q"), 0

    def __len__(self) -> int:
        return self._count

    def add(self, name: str) -> None:
        if 5 * self._count > 3 * len(self._table):
            old, self._table = self._table, writable(2 * self._table.nbytes).cast("Q")
            for digest in filter(None, old):
                self._table[_place(self._table, digest)] = digest
        digest = digest_of(name) or 1
        place = _place(self._table, digest)
        self._count += self._table[place] == 0
        self._table[place] = digest

    def __contains__(self, name: str) -> bool:
        return self._table[_place(self._table, digest_of(name) or 1)] != 0


class NameNumbers:
    """Numbers names from 0 in the order in which they come first, by their digests: 28 to 56 bytes each."""

    def __init__(self) -> None:
        self._digests, self._numbers = (writable(8 << 10).cast("Q") for _ in range(2))
        self._count = 0

    def number_of(self, name: str) -> int:
        if 5 * self._count > 3 * len(self._digests):
            self._grow()
        digest = digest_of(name) or 1
        place = _place(self._digests, digest)
        if self._digests[place] == 0:
            self._digests[place], self._numbers[place] = digest, self._count
            self._count += 1
        return self._numbers[place]

    def _grow(self) -> None:
        digests, numbers = self._digests, self._numbers
        self._digests, self._numbers = (writable(2 * digests.nbytes).cast("Q") for _ in range(2))
        for digest, number in zip(digests, numbers, strict=True):
            if digest:
                place = _place(self._digests, digest)
                self._digests[place], self._numbers[place] = digest, number


def _place(table: memoryview, digest: int) -> int:
    """Where a digest is in a table whose length is a power of two, or would be."""
    last = len(table) - 1
    place = digest & last
    while table[place] not in (0, digest):
        place = (place + 1) & last
    return place


class NameIndex:
    """Of the n-th key the position n, found by the key's digest: who asks compares the name that is there."""

    __slots__ = ("_digests", "_positions")

    def __init__(self, keys: Iterable[str] = ()) -> None:
        store = ByteStore()
        for key in keys:
            store.add(digest_of(key).to_bytes(8, "little"))
        digests = np.frombuffer(store.view(), "<u8")
        order = np.argsort(digests, kind="stable")
        sorted_digests, positions = ByteStore(), ByteStore()
        for start in range(0, len(order), BLOCK):
            block = order[start : start + BLOCK]
            sorted_digests.add(digests[block].tobytes())
            positions.add(block.astype("<u8").tobytes())
        self._hold(sorted_digests.view(), positions.view())

    def _hold(self, digests: memoryview, positions: memoryview) -> None:
        self._digests, self._positions = digests.cast("B").cast("Q"), positions.cast("B").cast("Q")

    def positions(self, key: str) -> Iterator[int]:
        """Where the key may be, the first place first."""
        digest = digest_of(key)
        at = bisect_left(self._digests, digest)
        while at < len(self._digests) and self._digests[at] == digest:
            yield self._positions[at]
            at += 1

    def __contains__(self, key: object) -> bool:
        """By the digest alone: one of ten million keys has the same as another text with a chance of 5e-13."""
        return isinstance(key, str) and next(self.positions(key), None) is not None

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _held, (sent(self._digests.cast("B"), protocol), sent(self._positions.cast("B"), protocol))


def _held(digests: Any, positions: Any) -> NameIndex:
    made = NameIndex()
    made._hold(memoryview(digests), memoryview(positions))
    return made
