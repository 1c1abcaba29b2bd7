"""Places of names, and names that come twice."""

from __future__ import annotations

import pickle

import pytest

from holdfast.data.files import name_index, packed_list
from holdfast.data.files.name_index import NameIndex, NameNumbers, NameSet, digest_of, repeated_digests
from holdfast.data.files.unseen_names import UnseenNames

NAMES = [f"images/{number % 7}/{number}.jpg" for number in range(1000)]


@pytest.fixture(params=["in memory", "on disk"], autouse=True)
def _where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "on disk":
        monkeypatch.setattr(packed_list, "IN_MEMORY_BYTES", 16)
        monkeypatch.setattr(name_index, "BLOCK", 7)


def test_each_name_is_found_and_no_other() -> None:
    index = NameIndex(NAMES)
    assert [list(index.positions(name)) for name in NAMES] == [[at] for at in range(1000)]
    assert ("images/0/0.jpg" in index, "images/0/1.jpg" in index, "" in NameIndex()) == (True, False, False)


def test_of_a_name_that_comes_often_all_places_the_first_first() -> None:
    index = pickle.loads(pickle.dumps(NameIndex(["b", "a", "b", "c", "b"]), protocol=5))
    assert (list(index.positions("b")), list(index.positions("x"))) == ([0, 2, 4], [])


def test_names_may_hold_what_is_no_text() -> None:
    assert list(NameIndex(["a", "caf\udce9.jpg"]).positions("caf\udce9.jpg")) == [1]


def test_a_set_holds_what_was_added() -> None:
    names = NameSet()
    assert "a" not in names
    for name in (*NAMES, *NAMES):
        names.add(name)
    assert all(name in names for name in NAMES)
    assert not any(f"{name}x" in names for name in NAMES)
    assert len(names) == len(NAMES)


def test_names_are_numbered_as_they_come_first() -> None:
    numbers = NameNumbers()
    assert [numbers.number_of(name) for name in (*NAMES, *NAMES[::-1])] == [*range(1000), *range(999, -1, -1)]


def test_digests_that_come_again() -> None:
    assert repeated_digests([]) == set()
    assert repeated_digests([3, 1, 2, 1, 2**64 - 1, 3, 3, 2**64 - 1]) == {1, 3, 2**64 - 1}
    assert digest_of("a") != digest_of("b")


def test_names_that_were_not_seen_in_the_order_of_the_list() -> None:
    unseen = UnseenNames(["b", "a", "c", "a"])
    assert (len(unseen), list(unseen)) == (4, ["b", "a", "c", "a"])
    unseen.see("a")
    unseen.see("x")
    assert (len(unseen), list(unseen)) == (2, ["b", "c"])
