"""The records to be written with the names of their images, and their parts, none of which is a list in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.data.files.packed_list import ByteStore
from holdfast.data.records import Record


class NamedRecords:
    """`places` are those of the part; without them it is all of the records."""

    def __init__(
        self, records: Sequence[Record], names: Sequence[str], places: Sequence[int] | None = None
    ) -> None:
        self._records, self._names = records, names
        self._places: Sequence[int] = range(len(records)) if places is None else places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[tuple[Record, str]]:
        for place in self._places:
            yield self._records[place], self._names[place]

    @property
    def records(self) -> Iterator[Record]:
        return (self._records[place] for place in self._places)

    def between(self, start: int, stop: int) -> NamedRecords:
        return NamedRecords(self._records, self._names, self._places[start:stop])

    def splits(self) -> dict[str | None, NamedRecords]:
        """The part of each split, in the order in which they begin."""
        parts: dict[str | None, ByteStore] = {}
        for place in self._places:
            store = parts.setdefault(self._records[place].split, ByteStore())
            store.add(place.to_bytes(8, "little"))
        views: dict[str | None, Any] = {split: store.view().cast("Q") for split, store in parts.items()}
        return {split: NamedRecords(self._records, self._names, view) for split, view in views.items()}
