"""Rows that a loop is given again in a later epoch."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.probe.learning.drawn_rows import TableRows

X = np.random.default_rng(0).normal(size=(96, 12)).astype("float32")
Y = np.arange(96) % 3


def _two_epochs(x: np.ndarray, y: np.ndarray, apart: bool) -> TableRows:
    rows, chance = TableRows(), np.random.default_rng(1)
    for _ in range(2):
        order = chance.permutation(len(x))
        for at in range(0, len(x), 24):
            taken = order[at : at + 24]
            rows.add(x[taken], y[at : at + 24] if apart else y[taken])
    return rows


@pytest.mark.parametrize("apart", [True, False])
def test_a_row_that_comes_again_has_its_label_or_another(apart: bool) -> None:
    seen = _two_epochs(X, Y, apart).dependence()
    assert seen.rows_again == 96
    assert (seen.relabelled > 40) is apart
    assert apart or seen.relabelled == 0


def test_rows_of_a_few_categories_are_not_compared() -> None:
    seen = _two_epochs(np.round(X[:, :2]), Y, True).dependence()
    assert seen is None or (seen.rows_again, seen.relabelled) == (0, 0)


@pytest.mark.parametrize("depends", [True, False])
def test_a_spot_anywhere_in_a_row_is_found(depends: bool) -> None:
    """No column and no neighbour shows it; what the row is like as a whole does."""
    chance = np.random.default_rng(2)
    labels = np.arange(400) % 3
    x = chance.normal(size=(400, 40)).astype("float32")
    x[np.arange(400), chance.integers(0, 40, 400)] += 6.0 * (
        labels if depends else chance.permutation(labels)
    )
    rows = TableRows()
    for at in range(0, 400, 50):
        rows.add(x[at : at + 50], labels[at : at + 50])
    seen = rows.dependence()
    assert (seen.shuffles_as_related < 0.05) is depends
