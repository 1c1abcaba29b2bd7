"""Numbers that are off by one, and numbers that merely have no name."""

from __future__ import annotations

import pytest

from holdfast.data.formats.label_map import disagreeing_lists, shift_of_numbers


@pytest.mark.parametrize(
    ("known", "used", "step"),
    [
        ({0, 1, 2}, {1, 2, 3}, 1),
        ({1, 2, 3}, {0, 1, 2}, -1),
        ({0, 1, 2}, {1, 3}, 1),
        ({0, 1, 2}, {0, 3}, 0),  # the first is used
        ({1, 2, 3}, {0, 3}, 0),
        ({0, 1, 2}, {1, 5}, 0),  # far past the names
        ({0, 1, 2}, {1, 2}, 0),
        ({0, 1, 2}, {1, 3, 9}, 0),
        (set(), {1}, 0),
    ],
)
def test_shift(known: set[int], used: set[int], step: int) -> None:
    assert shift_of_numbers(known, used) == step


def test_lists_that_number_classes_otherwise() -> None:
    first, other = {1: "car", 2: "person", 3: "bus"}, {1: "bus", 2: "car", 3: "person"}
    found = list(disagreeing_lists([("a.json", {}), ("train.json", first), ("val.json", other)]))
    assert [(one.finding, one.file) for one in found] == [("class-lists-disagree", "val.json")]
    assert found[0].detail == (
        "3 classes have other numbers than in train.json: 3 is 'person' here and 'bus' there, "
        "1 is 'bus' here and 'car' there, 2 is 'car' here and 'person' there; boxes are read by name"
    )


def test_lists_that_agree_in_part() -> None:
    first = {1: "car", 2: "person", 3: "bus"}
    assert (
        list(disagreeing_lists([("train.json", first), ("val.json", {1: "car", 3: "bus", 9: "tram"})])) == []
    )
    assert list(disagreeing_lists([("train.json", first), ("other.json", {1: "cell", 2: "platelet"})])) == []
    assert list(disagreeing_lists([("train.json", first)])) == []
