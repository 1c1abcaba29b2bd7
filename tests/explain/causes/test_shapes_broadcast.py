"""Shapes that are stretched to fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from tests.explain.learning_runs import NUMBERS, dense, trained
from tests.explain.made import Run, facts, remedies, title_of

_MSE = "mean_squared_error"


def example(run: Run) -> None:
    output = dense("linear", 1, _MSE, prediction_shape=[None, 6, 1], target_shape=[None])
    trained(run, output, NUMBERS, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


def near_miss(run: Run) -> None:
    output = dense("linear", 1, _MSE, prediction_shape=[None, 1], target_shape=[None])
    trained(run, output, NUMBERS, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("predicted", "wanted", "by", "found"),
    [
        ([None, 1], [None], "compile", None),
        ([None, 1], [None], "call", Strength.ESTABLISHED),
        ([32, 1], [32], "call", Strength.ESTABLISHED),
        ([None, 2], [None, 1], "compile", Strength.SUPPORTED),
        ([32, 2], [None, 1], "compile", Strength.SUPPORTED),
        ([32, 1], [None], "compile", None),
        ([None, 6, 1], [None], "compile", Strength.ESTABLISHED),
        ([None, 6, 1], [None, 6], "compile", None),
        ([None, 6, 3], [None, 6, 3], "compile", None),
        ([None, 2], [None, 3], "compile", None),
        (None, [None], "compile", None),
    ],
)
def test_shapes(tmp_path: Path, predicted: Any, wanted: Any, by: str, found: Strength | None) -> None:
    run = Run(tmp_path / "run")
    output = dense("linear", 1, _MSE, prediction_shape=predicted, target_shape=wanted, by=by)
    trained(run, output, NUMBERS, [1.0] * 6)
    assert [one.strength for one in run.verdict().findings if one.cause == "shapes-broadcast"] == (
        [found] if found is not None else []
    )


def test_the_shapes_are_written_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert title_of(run.first()) == (
        "predictions of shape (n, 6, 1) against targets of shape (n,): every prediction is compared with every target"
    )
    assert facts(run.first())["shapes.compared"]["wanted"] == [None]
    assert remedies(run.first()) == ["output.one-answer-each"]


_MAE, _LEARNS_THE_MEDIAN = "mean_absolute_error", [1.2, 1.0, 0.9, 0.82, 0.8, 0.8]
_N, _N1 = [100], [100, 1]


@pytest.mark.parametrize(
    ("loss", "predicted", "wanted", "deviation", "last", "found"),
    [
        (_MAE, _N, _N1, 0.8, 0.8, Strength.ESTABLISHED),  # the best constant answer, and no better
        (_MAE, _N1, _N, None, 0.8, Strength.SUPPORTED),  # of an older record
        ("huber", _N, _N1, 0.8, 0.4, Strength.SUPPORTED),
        ("huber", _N1, [None], 0.8, 0.4, Strength.POSSIBLE),  # it may be one target for all rows
        (_MAE, _N, _N1, 0.8, 0.2, Strength.POSSIBLE),  # far better than any constant: not of every pair
        ("huber", [4, 100], _N, None, 0.2, Strength.POSSIBLE),  # several predictions for each target
        ("huber", [50, 1, 2], [50, 2], None, 0.2, Strength.POSSIBLE),  # the distances of points to points
        ("huber", [100, 1, 9], [100, 9], None, 0.2, Strength.POSSIBLE),
        ("huber", _N, _N, None, 0.2, None),
        ("huber", [100, 1], [1, 100], None, 0.2, Strength.POSSIBLE),  # written on purpose
    ],
)
def test_a_loss_that_fell_to_that_of_a_constant_answer(
    tmp_path: Path, loss: str, predicted: Any, wanted: Any, deviation: float | None, last: float, found: Any
) -> None:
    run = Run(tmp_path / "run")
    output = dense("linear", 1, loss, prediction_shape=predicted, target_shape=wanted, by="call")
    target = {**NUMBERS, "shape": [1], "median_deviation": deviation}
    trained(run, output, target, [*_LEARNS_THE_MEDIAN[:-1], last])
    seen = [one.strength for one in run.verdict().findings if one.cause == "shapes-broadcast"]
    assert seen == ([found] if found is not None else [])


def test_a_loss_that_is_a_part_of_another_is_not_judged_by_its_fall(tmp_path: Path) -> None:
    """As the first of the terms of an energy distance, which compares every pair on purpose."""
    run = Run(tmp_path / "run")
    output = dense("linear", 1, _MAE, prediction_shape=_N, target_shape=_N1, by="call", part=True)
    trained(run, output, {**NUMBERS, "median_deviation": 0.8}, [1.2, 0.6, 0.5])
    seen = [one.strength for one in run.verdict().findings if one.cause == "shapes-broadcast"]
    assert seen == [Strength.POSSIBLE]
