"""Numbers about inputs and targets, from a sample of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.probe.learning import value_samples
from holdfast.probe.learning.value_samples import as_array, dependence, values_seen

_RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test draws the same numbers whichever tests came before it."""
    monkeypatch.setitem(globals(), "_RANDOM", np.random.default_rng(0))


def _seen(array: Any, role: str = "target") -> Any:
    seen = values_seen(array, role)
    assert seen is not None
    return seen


def test_class_ids_are_counted() -> None:
    seen = _seen(np.array([0, 0, 0, 1, 2, 2, 0, 0]))
    assert (seen.classes, seen.class_count, seen.distinct) == ({"0": 5, "2": 2, "1": 1}, 3, 3)
    assert (seen.whole_numbers, seen.one_hot, seen.shape, seen.min, seen.max) == (True, False, [], 0.0, 2.0)


def test_rows_with_one_1_are_classes_by_the_place_of_the_1() -> None:
    seen = _seen(np.eye(3)[[0, 1, 1, 2]])
    assert (seen.one_hot, seen.sums_to_one, seen.classes) == (True, True, {"1": 2, "0": 1, "2": 1})


@pytest.mark.parametrize(
    ("array", "one_hot", "sums"),
    [
        (np.array([[0.9, 0.1], [0.2, 0.8]]), False, True),  # of a teacher
        (np.array([[1, 1, 0], [0, 1, 0]]), False, False),  # several labels at once
        (np.zeros((4, 3)), False, False),
    ],
)
def test_rows_of_other_kinds(array: Any, one_hot: bool, sums: bool) -> None:
    seen = _seen(array)
    assert (seen.one_hot, seen.sums_to_one, seen.classes) == (one_hot, sums, {})


def test_how_far_targets_are_from_their_median() -> None:
    assert _seen(np.array([0.5, 1.0, 2.0, 3.0, 10.0])).median_deviation == pytest.approx(11.5 / 5)
    assert _seen(np.array([[0.5], [1.0], [2.0], [3.0], [10.0]])).median_deviation == pytest.approx(11.5 / 5)
    assert _seen(np.ones((5, 2))).median_deviation is None
    assert _seen(np.arange(5.0), "input").median_deviation is None


def test_measurements_are_no_classes() -> None:
    seen = _seen(_RANDOM.normal(size=500))
    assert (seen.whole_numbers, seen.classes, seen.distinct) == (False, {}, 500)
    assert _seen(np.arange(500)).classes == {}  # whole numbers, each of them once


def test_columns_that_do_not_vary_and_the_scales_of_those_that_do() -> None:
    table = np.stack([np.ones(64), np.arange(64.0), 1000 * np.arange(64.0)], axis=1)
    seen = _seen(table, "input")
    assert (seen.columns, seen.constant_columns, seen.rows_differ) == (3, 1, True)
    assert seen.column_scales[0] == pytest.approx(np.arange(64).std())
    assert seen.column_scales[-1] == pytest.approx(1000 * np.arange(64).std())
    assert _seen(np.ones((8, 4)), "input").rows_differ is False


def test_a_long_array_is_sampled_over_its_whole_length() -> None:
    seen = _seen(np.repeat([0, 1], 50_000))
    assert seen.rows <= 4096
    assert seen.classes["0"] == pytest.approx(seen.rows / 2, abs=1)


def test_values_that_are_not_finite_are_left_out() -> None:
    seen = _seen(np.array([1.0, np.nan, 3.0]))
    assert (seen.finite, seen.min, seen.max) == (False, 1.0, 3.0)
    assert _seen(np.array([np.nan])).min is None


@pytest.mark.parametrize("value", [None, "text", np.array(["a", "b"]), np.array(3.0), [], {"a": 1}, object()])
def test_what_is_no_array_of_numbers_is_left_alone(value: Any) -> None:
    assert as_array(value) is None


def test_labels_that_depend_on_the_rows() -> None:
    rows = _RANDOM.normal(size=(600, 3))
    labels = (rows[:, 0] > 0).astype(int)
    seen = dependence(rows, labels)
    assert seen is not None and seen.of == "classes" and seen.rows == 600
    assert seen.chance == pytest.approx(0.5, abs=0.01)
    assert seen.agreement > 0.8
    shuffled = dependence(rows, _RANDOM.permutation(labels))
    assert shuffled is not None and abs(shuffled.agreement - shuffled.chance) < 0.1


def test_targets_that_are_numbers_are_correlated() -> None:
    rows = _RANDOM.normal(size=(600, 2))
    seen = dependence(rows, rows[:, 0] * 100)
    assert seen is not None and (seen.of, seen.chance) == ("values", 0.0) and seen.agreement > 0.8


def test_a_scale_of_one_column_does_not_hide_the_others() -> None:
    rows = np.stack([_RANDOM.normal(size=600) * 1e6, _RANDOM.normal(size=600)], axis=1)
    seen = dependence(rows, (rows[:, 1] > 0).astype(int))
    assert seen is not None and seen.agreement > 0.8


def test_tables_that_are_too_small_or_too_wide_are_not_judged() -> None:
    assert dependence(np.zeros((20, 3)), np.zeros(20)) is None
    assert dependence(np.zeros((100, 2000)), np.zeros(100)) is None
    assert dependence(np.zeros((100, 3)), np.zeros(99)) is None
    assert dependence(_RANDOM.normal(size=(100, 3)), np.zeros(100)) is None


def test_nothing_is_drawn_from_the_random_numbers_of_the_process() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index,union-attr]
    values_seen(_RANDOM.normal(size=(100, 3)), "input")
    dependence(_RANDOM.normal(size=(100, 3)), np.arange(100.0))
    assert (np.random.get_state()[1] == before).all()  # type: ignore[index]
    assert value_samples.sample_of(np.zeros((10, 2))).shape == (10, 2)
