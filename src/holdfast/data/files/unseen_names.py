"""Which names of a long list have not been seen: a byte for each name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.data.files.name_index import NameIndex


class UnseenNames:
    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._index = names, NameIndex(names)
        self._seen = bytearray(len(names))

    def see(self, name: str) -> None:
        for at in self._index.positions(name):
            if self._names[at] == name:
                self._seen[at] = 1

    def __len__(self) -> int:
        return len(self._seen) - sum(self._seen)

    def __iter__(self) -> Iterator[str]:
        """In the order of the list."""
        for name, seen in zip(self._names, self._seen, strict=True):
            if not seen:
                yield name
