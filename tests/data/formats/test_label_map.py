"""Numbers that are off by one, and numbers that merely have no name."""

from __future__ import annotations

import pytest

from holdfast.data.formats.label_map import shift_of_numbers


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
