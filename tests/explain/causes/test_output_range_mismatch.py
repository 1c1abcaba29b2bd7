"""Targets that the last activation cannot reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from tests.explain.learning_runs import NUMBERS, dense, trained
from tests.explain.made import Run, facts, remedies, title_of

_PRICES = {**NUMBERS, "min": 90.0, "max": 500.0, "mean": 250.0, "std": 60.0}


def example(run: Run) -> None:
    trained(run, dense("sigmoid", loss="mean_squared_error"), _PRICES, [66000.0, 65900.0, 65800.0])


def near_miss(run: Run) -> None:
    trained(run, dense("sigmoid", loss="mean_squared_error"), {**NUMBERS, "min": 0.0, "max": 1.0}, [1.0] * 6)


@pytest.mark.parametrize(
    ("activation", "low", "high", "losses", "strength"),
    [
        ("sigmoid", 2.0, 9.0, [9.0, 8.0, 8.0], Strength.ESTABLISHED),
        ("relu", -3.0, 3.0, [1.0] * 6, Strength.SUPPORTED),
        ("relu", -3.0, 3.0, [1.0, 0.6, 0.5], Strength.SUPPORTED),  # all that is above 0
        ("relu", -3.0, 3.0, [1.0, 0.4, 0.1], Strength.POSSIBLE),
        ("tanh", -3.0, 3.0, [1.0, 0.6, 0.4], Strength.POSSIBLE),
        ("relu", -0.1, 3.0, [1.0] * 6, None),
        ("tanh", -3.0, 3.0, [1.0] * 6, Strength.SUPPORTED),
        ("tanh", -1.0, 1.0, [1.0] * 6, None),
        ("softplus", 0.0, 900.0, [1.0] * 6, None),
        ("linear", -3.0, 3.0, [1.0] * 6, None),
    ],
)
def test_the_range_and_the_course_decide(
    tmp_path: Path, activation: str, low: float, high: float, losses: list[float], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense(activation, loss="mean_squared_error"), {**NUMBERS, "min": low, "max": high}, losses)
    found = [one.strength for one in run.verdict().findings if one.cause == "output-range-mismatch"]
    assert found == ([strength] if strength is not None else [])


def test_targets_that_scatter_far_beyond_both_ends_need_no_course(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    target = {**NUMBERS, "min": -336.0, "max": 367.0, "std": 110.0}
    trained(run, dense("softmax", 3, loss="mean_squared_error"), {**target, "shape": [3]}, [12100.0])
    assert (run.first().cause, run.first().strength) == ("output-range-mismatch", Strength.ESTABLISHED)


def test_the_numbers_are_in_the_title(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert title_of(run.first()) == (
        'Dense(1, activation="sigmoid") gives numbers between 0 and 1, and the targets are 90 to 500 (train.py:12)'
    )
    assert remedies(run.first()) == ["output.linear-for-numbers", "targets.scale-into-range"]
    assert facts(run.first())["targets.seen"]["high"] == 500.0
