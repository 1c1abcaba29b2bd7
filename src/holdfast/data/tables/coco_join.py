"""Which annotation of a COCO file belongs to which image: on disk, in blocks, whatever their order in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from holdfast.data.files.packed_list import ByteStore
from holdfast.data.tables.row_groups import RowGroups, blocks

#: An id that is absent, or in a table of its own because it is no number of 64 bits.
NONE = -(2**63)
#: Flags of an annotation: 1 crowd, 2 difficult, 4 where the image's id is a place in the table of odd ones.
ODD_OWNER = 4
ANNOTATION = "<5dqqiB"  # x, y, w, h, area, the image's id, its own id, the category's slot, flags
COLUMNS = np.dtype(
    [("box", "<f8", 5), ("image", "<i8"), ("id", "<i8"), ("slot", "<i4"), ("flags", "u1")]
)  # as in ANNOTATION
FEWEST_IMAGES = 10  # whose ids say something about how they were counted


class ImageIds:
    """The position of the image with an id. `odd` are the ids that are no numbers of 64 bits."""

    def __init__(self, ids: Any, odd: Mapping[Any, int]) -> None:
        order = np.argsort(ids, kind="stable")
        in_order, positions = ByteStore(), ByteStore()
        for block in blocks(len(order)):
            in_order.add(ids[order[block]].tobytes())
            positions.add(order[block].astype("<i8").tobytes())
        self._ids = np.frombuffer(in_order.view(), "<i8")
        self._positions = np.frombuffer(positions.view(), "<i8")
        self.odd = odd

    @property
    def numbers(self) -> Any:
        """In their order."""
        return self._ids[self._ids != NONE]

    def repeated(self) -> list[tuple[int, int]]:
        """The first position of an id, and another; in the order of the latter."""
        again = np.flatnonzero((self._ids[1:] == self._ids[:-1]) & (self._ids[1:] != NONE)) + 1
        firsts = np.searchsorted(self._ids, self._ids[again])
        return sorted(
            zip(self._positions[firsts].tolist(), self._positions[again].tolist(), strict=True),
            key=lambda pair: pair[1],
        )

    def of(self, owners: Any) -> Any:
        """Of many numbers at once; -1 where there is no such image."""
        if not len(self._ids):
            return np.full(len(owners), -1, np.int64)
        at = np.minimum(np.searchsorted(self._ids, owners), len(self._ids) - 1)
        return np.where((self._ids[at] == owners) & (owners != NONE), self._positions[at], -1)

    def one(self, identity: Any) -> int:
        """Of an id of any type, also written in the other type: 7 for "7", "7" for 7."""
        for written in (identity, other_id_type(identity)):
            if written in self.odd:
                return self.odd[written]
            if isinstance(written, int) and abs(written) < 2**63:
                found = int(self.of(np.array([written], np.int64))[0])
                if found >= 0:
                    return found
        return -1


class Joined:
    """The annotations of each image, in the order of the file. `strangers` are those of no image."""

    def __init__(
        self, annotations: memoryview, ids: ImageIds, odd_owners: Sequence[Any], images: int
    ) -> None:
        self._table = np.frombuffer(annotations, COLUMNS)
        self._ids, self._odd = ids, np.array([ids.one(owner) for owner in odd_owners], np.int64)
        store = ByteStore()
        for block in blocks(len(self._table)):
            store.add(self._positions(self._table[block]).tobytes())
        self._of_image = np.frombuffer(store.view(), "<i8")
        self._groups = RowGroups(self._of_image, images)

    def _positions(self, part: Any) -> Any:
        odd = (part["flags"] & ODD_OWNER) > 0
        at = self._ids.of(np.where(odd, NONE, part["image"]))
        at[odd] = self._odd[part["image"][odd]]
        if self._ids.odd:
            for place in np.flatnonzero((at < 0) & ~odd).tolist():
                at[place] = self._ids.one(int(part["image"][place]))
        return at

    def of_images(self, start: int, stop: int) -> list[bytes]:
        """Of each of these images its annotations, packed."""
        places, bounds = self._groups.of_images(start, stop)
        rows, size = self._table[places].tobytes(), self._table.itemsize
        return [rows[size * one : size * other] for one, other in pairwise(bounds)]

    def strangers(self) -> Iterator[tuple[int, int, bool]]:
        """Of each annotation of no image: its id, the image's, and whether that is a place among the odd ones."""
        for block in blocks(len(self._of_image)):
            part = self._table[block]
            for at in np.flatnonzero(self._of_image[block] < 0).tolist():
                yield int(part["id"][at]), int(part["image"][at]), bool(part["flags"][at] & ODD_OWNER)

    def shifted(self, sizes: Callable[[], Sequence[tuple[int, int]]]) -> tuple[int, int, int, int] | None:
        """First and last id of the images, and the annotations' image ids, where these are all one too high or too low.

        Then each image has the boxes of the one beside it: more of them leave their image than after moving them back.
        """
        if not any((self._of_image[block] < 0).any() for block in blocks(len(self._of_image))):
            return None
        known, used = self._ids.numbers, np.zeros(0, np.int64)
        for block in blocks(len(self._table)):
            part = self._table[block]
            used = np.union1d(used, part["image"][(part["flags"] & ODD_OWNER) == 0])
        strange = np.setdiff1d(used, known)
        if len(used) < FEWEST_IMAGES or not len(strange) or not len(known):
            return None
        step = next((one for one in (1, -1) if np.isin(used - one, known).all()), 0)
        end = known[0] if step > 0 else known[-1]
        if not step or (len(strange) == 1 and end in used):
            return None
        listed = np.array(sizes())
        if self._outside(listed, step) > self._outside(listed, 0):
            return None
        return int(known[0]), int(known[-1]), int(used[0]), int(used[-1])

    def _outside(self, sizes: Any, step: int) -> int:
        """Boxes that leave their image, if the annotations' image ids are `step` too high."""
        count = 0
        for block in blocks(len(self._table)):
            part = self._table[block]
            at = self._ids.of(part["image"] - step)
            far = part["box"][:, :2] + part["box"][:, 2:4]
            declared = sizes[at]
            count += int(((at >= 0) & (declared > 0).all(axis=1) & (far > declared + 1).any(axis=1)).sum())
        return count

    def with_slot(self, slot: int) -> int:
        """How many annotations have this category."""
        return sum(int((self._table[block]["slot"] == slot).sum()) for block in blocks(len(self._table)))


def other_id_type(identity: Any) -> Any:
    """The id in the other type that it may have been written in: 7 for "7", "7" for 7."""
    if isinstance(identity, str):
        return int(identity) if identity.isascii() and identity.isdigit() and len(identity) < 19 else None
    return str(identity)
