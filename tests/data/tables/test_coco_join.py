"""Annotations come to their images in the order of the file, whatever its order and the types of its ids."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from holdfast.data.files import packed_list
from holdfast.data.tables import row_groups
from holdfast.data.tables.coco_join import ANNOTATION, NONE, ODD_OWNER, ImageIds, Joined


@pytest.fixture(params=["in memory", "on disk"], autouse=True)
def _where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "on disk":
        monkeypatch.setattr(packed_list, "IN_MEMORY_BYTES", 16)
        monkeypatch.setattr(row_groups, "BLOCK", 5)


def annotation(number: int, owner: int, slot: int = 0, flags: int = 0) -> bytes:
    return struct.pack(ANNOTATION, 1.0, 2.0, 3.0, 4.0, 12.0, owner, number, slot, flags)


def numbers_of(packed: list[bytes]) -> list[list[int]]:
    return [[one[6] for one in struct.iter_unpack(ANNOTATION, part)] for part in packed]


def test_in_any_order() -> None:
    ids, draw = list(range(100, 140)), random.Random(1)
    draw.shuffle(ids)
    owners = [draw.choice([*ids, 7]) for _ in range(400)]
    rows = b"".join(annotation(number, owner) for number, owner in enumerate(owners))
    joined = Joined(memoryview(rows), ImageIds(np.array(ids), {}), [], len(ids))
    wanted = [[number for number, owner in enumerate(owners) if owner == one] for one in ids]
    assert numbers_of(joined.of_images(0, len(ids))) == wanted
    assert numbers_of(joined.of_images(11, 14)) == wanted[11:14]
    assert [one for one, _, _ in joined.strangers()] == [at for at, owner in enumerate(owners) if owner == 7]


def test_ids_that_are_texts_or_are_written_as_the_other_type() -> None:
    ids = ImageIds(np.array([7, NONE, NONE, 9]), {"a": 1, "12": 2})
    odd = ["7", "a", "b"]  # of annotations
    rows = [annotation(0, 0, flags=ODD_OWNER), annotation(1, 12), annotation(2, 1, flags=ODD_OWNER)]
    rows += [annotation(3, 9), annotation(4, 2, flags=ODD_OWNER), annotation(5, NONE), annotation(6, 8)]
    joined = Joined(memoryview(b"".join(rows)), ids, odd, 4)
    assert numbers_of(joined.of_images(0, 4)) == [[0], [2], [1], [3]]
    assert list(joined.strangers()) == [(4, 2, True), (5, NONE, False), (6, 8, False)]
    assert [ids.one(one) for one in (7, "9", 12, "zz", 10**30)] == [0, 3, 2, -1, -1]


def test_an_id_that_comes_again_is_said_with_its_first_place() -> None:
    assert ImageIds(np.array([5, 3, 5, NONE, 3, NONE, 5]), {}).repeated() == [(0, 2), (1, 4), (0, 6)]


def test_nothing_at_all() -> None:
    joined = Joined(memoryview(b""), ImageIds(np.array([], np.int64), {}), [], 0)
    assert (joined.of_images(0, 0), list(joined.strangers()), joined.with_slot(0)) == ([], [], 0)


def test_categories_are_counted() -> None:
    rows = b"".join(annotation(number, 1, slot=number % 3) for number in range(20))
    joined = Joined(memoryview(rows), ImageIds(np.array([1]), {}), [], 1)
    assert [joined.with_slot(slot) for slot in range(4)] == [7, 7, 6, 0]
