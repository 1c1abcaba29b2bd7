"""Numbers of the first batches of a loop."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.probe.loops.loop_values import ValueSample


def test_class_ids_are_counted_over_batches() -> None:
    sample = ValueSample("target")
    sample.add(np.array([0, 0, 2]))
    sample.add(np.array([2, 2, 1]))
    seen = sample.event(0)
    assert (seen.rows, seen.shape, seen.distinct, seen.class_count) == (6, [], 3, 3)
    assert seen.classes == {"2": 3, "0": 2, "1": 1}
    assert (seen.min, seen.max, seen.whole_numbers) == (0.0, 2.0, True)
    assert seen.mean == pytest.approx(7 / 6)
    assert seen.std == pytest.approx(np.std([0, 0, 2, 2, 2, 1]))


def test_one_hot_rows_and_probabilities() -> None:
    one_hot, shares = ValueSample("target"), ValueSample("prediction")
    one_hot.add(np.eye(3)[[0, 1, 1]])
    shares.add(np.array([[0.2, 0.8], [0.6, 0.4]]))
    assert (one_hot.event(0).one_hot, one_hot.event(0).classes) == (True, {"1": 2, "0": 1})
    assert (shares.event(3).one_hot, shares.event(3).sums_to_one, shares.event(3).step) == (False, True, 3)
    assert shares.event(3).classes == {"1": 1, "0": 1}


def test_continuous_targets_have_no_classes() -> None:
    sample = ValueSample("target")
    sample.add(np.array([0.5, 1.5]))
    assert (sample.event(0).classes, sample.event(0).whole_numbers, sample.constant) == ({}, False, False)


def test_columns_of_inputs() -> None:
    sample = ValueSample("input")
    sample.add(np.array([[1.0, 7.0, -100.0], [3.0, 7.0, 100.0]]))
    seen = sample.event(0)
    assert (seen.columns, seen.constant_columns, seen.rows_differ) == (3, 1, True)
    assert seen.column_scales == pytest.approx([1.0, 50.5, 100.0])


def test_values_that_are_not_finite_are_left_out_of_the_numbers() -> None:
    sample = ValueSample("input")
    sample.add(np.array([1.0, np.nan, 3.0]))
    assert (sample.event(0).finite, sample.event(0).mean) == (False, 2.0)


def test_text_is_no_sample() -> None:
    sample = ValueSample("input")
    sample.add(np.array(["a", "b"]))
    assert sample.batches == 0
