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
