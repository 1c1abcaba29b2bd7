"""Sequences for listings of millions of images: what is known of each is on disk, in files without a name.

The kernel reads a page where it is asked for and drops it where memory is short, so that a process does not grow with
the listing. Below a mebibyte nothing is written. To the nodes of a Ray cluster a sequence travels as buffers, of which
each node keeps one copy that all of its workers read.
"""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Generic, TypeVar, overload

from holdfast.atomic_write import naming_file

Item = TypeVar("Item")

IN_MEMORY_BYTES = 1 << 20
TOGETHER = 64  # items that are packed, and unpacked, at once


class ByteStore:
    """Bytes that are only added, and read when all are there."""

    def __init__(self) -> None:
        self._newest = bytearray()
        self._file: IO[bytes] | None = None
        self.size = 0

    def add(self, data: bytes | memoryview) -> None:
        self._newest += data
        self.size += len(data)
        if len(self._newest) > IN_MEMORY_BYTES:
            self._file = self._file or _new_file()
            self._write(self._file)
            self._newest = bytearray()

    def _write(self, file: IO[bytes]) -> None:
        with naming_file(Path(tempfile.gettempdir())):  # where the disk is full
            file.write(self._newest)
            file.flush()

    def view(self) -> memoryview:
        """Of all that was added; nothing can be added any more."""
        if self._file is None:
            return memoryview(bytes(self._newest))
        with self._file as file:
            self._write(file)
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _new_file() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="holdfast-listing-")


def writable(size: int) -> memoryview:
    """So many zeros, to be written anywhere."""
    if size <= IN_MEMORY_BYTES:
        return memoryview(bytearray(size))
    with _new_file() as file:
        with naming_file(Path(tempfile.gettempdir())):
            os.posix_fallocate(
                file.fileno(), 0, size
            )  # a hole that the disk cannot fill would end the process
        return memoryview(mmap.mmap(file.fileno(), size))


class PackedWriter(Generic[Item]):
    """Makes a PackedList of items that come one by one."""

    def __init__(self) -> None:
        self._part: list[Item] = []
        self._store, self._ends, self._before = ByteStore(), ByteStore(), 0

    def __len__(self) -> int:
        return self._before + len(self._part)

    def add(self, item: Item) -> None:
        self._part.append(item)
        if len(self._part) == TOGETHER:
            self._pack()

    def extend(self, items: Iterable[Item]) -> None:
        for item in items:
            self.add(item)

    def _pack(self) -> None:
        self._store.add(pickle.dumps(self._part, protocol=pickle.HIGHEST_PROTOCOL))
        self._ends.add(self._store.size.to_bytes(8, "little"))
        self._before += len(self._part)
        self._part = []

    def finished(self) -> PackedList[Item]:
        if self._part:
            self._pack()
        made: PackedList[Item] = PackedList()
        made._hold(self._store.view(), self._ends.view(), self._before)
        return made


class PackedList(Sequence[Item]):
    """Items that can be pickled, to be read in their order or one by one."""

    __slots__ = ("_data", "_ends", "_length", "_newest")

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._hold(memoryview(b""), memoryview(b""), 0)
        writer: PackedWriter[Item] | None = None
        for item in items:
            writer = writer or PackedWriter()
            writer.add(item)
        if writer is not None:
            made = writer.finished()
            self._hold(made._data, made._ends, made._length)

    def _hold(self, data: memoryview, ends: memoryview, length: int) -> None:
        self._data, self._ends, self._length = data, ends, length
        self._newest: tuple[int, list[Item]] = (-1, [])

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Item]:
        for number in range(len(self._ends) // 8):
            yield from self._unpacked(number)

    @overload
    def __getitem__(self, at: int) -> Item: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Item]: ...

    def __getitem__(self, at: int | slice) -> Item | Sequence[Item]:
        if isinstance(at, slice):
            return tuple(self[one] for one in range(*at.indices(self._length)))
        place = at + self._length if at < 0 else at
        if not 0 <= place < self._length:
            raise IndexError(at)
        number, newest = place // TOGETHER, self._newest
        if newest[0] != number:
            newest = self._newest = number, self._unpacked(number)
        return newest[1][place % TOGETHER]

    def _unpacked(self, number: int) -> list[Item]:
        found: list[Item] = pickle.loads(self._data[self._end(number - 1) : self._end(number)])
        return found

    def _end(self, number: int) -> int:
        return int.from_bytes(self._ends[8 * number : 8 * number + 8], "little") if number >= 0 else 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(other) == self._length and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self._length} items>"

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _held, (sent(self._data, protocol), sent(self._ends, protocol), self._length)


def _held(data: Any, ends: Any, length: int) -> PackedList[Any]:
    made: PackedList[Any] = PackedList()
    made._hold(memoryview(data), memoryview(ends), length)
    return made


def sent(data: memoryview, protocol: int) -> pickle.PickleBuffer | bytes:
    """For a pickle: a buffer, which need not be copied, where the protocol knows buffers."""
    return pickle.PickleBuffer(data) if protocol >= 5 else bytes(data)
