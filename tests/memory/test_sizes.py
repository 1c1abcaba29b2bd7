"""Sizes as people write them."""

from __future__ import annotations

import pytest

from holdfast.errors import OutOfRange
from holdfast.memory.byte_sizes import parse, shown


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("16GiB", 17179869184),
        ("16 GB", 16_000_000_000),
        ("900MiB", 943718400),
        ("1.5g", 1610612736),
        ("17179869184", 17179869184),
    ],
)
def test_a_number_and_a_unit(text, size):
    assert parse(text) == size


@pytest.mark.parametrize("text", ["sixteen", "16 parsecs", "-4GiB", "0GiB", ""])
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(OutOfRange) as raised:
        parse(text, where="--device-memory")
    assert "16GiB" in raised.value.change[0]
    assert raised.value.where == "--device-memory"


def test_shown_with_about_three_figures():
    assert [shown(n) for n in (2048, 812 * 2**20, int(1.94 * 2**30), 150109880320)] == [
        "2 KiB", "812 MiB", "1.94 GiB", "139.8 GiB",
    ]  # fmt: skip


def test_a_small_number_without_a_unit_was_meant_otherwise():
    with pytest.raises(OutOfRange) as raised:
        parse("16", where="--device-memory")
    assert raised.value.what == "16 without a unit is 16 bytes, and no card is that small"
    assert raised.value.change[0] == "16GiB, if that is meant"
