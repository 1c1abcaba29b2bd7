"""Medians, with and without weights."""

from __future__ import annotations

import pytest

from holdfast.explain.readings.numbers import median, weighted_median


@pytest.mark.parametrize("values", [[3.0], [1.0, 4.0], [5.0, 1.0, 9.0], [2.0, 8.0, 4.0, 6.0]])
def test_equal_weights_give_the_median(values: list[float]) -> None:
    assert weighted_median(values, [0.5] * len(values)) == median(values)


def test_the_side_with_more_weight_decides() -> None:
    assert weighted_median([1.0, 2.0, 50.0], [1, 1, 3]) == 50.0
    assert weighted_median([50.0, 1.0, 2.0], [1, 3, 1]) == 1.0
