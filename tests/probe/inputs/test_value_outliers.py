"""A value far beyond the others in a batch."""

from __future__ import annotations

import numpy as np

from holdfast.probe.inputs.value_outliers import TypicalValues


def _learnt() -> TypicalValues:
    usual, random = TypicalValues(), np.random.default_rng(0)
    for _ in range(5):
        usual.learn([random.uniform(-1, 1, (32, 12)), np.arange(32), np.array(["a"] * 32)])
    return usual


def test_the_row_and_the_value_are_told() -> None:
    batch = np.full((32, 12), 0.5)
    batch[3, 7] = -4e9
    found = _learnt().outlier(batch, 0)
    assert found is not None
    assert (found["path"], found["row"], found["far"]) == ("x", 3, -4e9)
    assert 0.9 < found["usual"] <= 1.0


def test_what_is_ordinary_is_left_alone() -> None:
    usual = _learnt()
    assert usual.outlier(np.full((32, 12), 900.0), 0) is None
    assert usual.outlier(np.arange(32) * 900, 1) is None
    assert usual.outlier(np.array(["a"] * 32), 2) is None
    assert usual.outlier(np.full((4, 1), 1e30), 5) is None  # a part that was never seen
    assert TypicalValues().outlier(np.full((4, 1), 1e30), 0) is None


def test_one_far_value_among_those_learnt_from_changes_nothing() -> None:
    usual = TypicalValues()
    for number in range(5):
        usual.learn([np.full((8, 2), 1e12 if number == 2 else 1.0)])
    assert usual.outlier(np.full((8, 2), 1e12), 0) is not None
