"""Targets far from where a network starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from tests.explain.learning_runs import NUMBERS, dense, trained
from tests.explain.made import Run, facts, remedies, title_of

_PRICES = {**NUMBERS, "min": 52000.0, "max": 510000.0, "mean": 210000.0, "std": 80000.0}


def example(run: Run) -> None:
    trained(run, dense("linear", loss="mean_squared_error"), _PRICES, [5.1e10, 5.09e10, 5.08e10])


def near_miss(run: Run) -> None:
    trained(run, dense("linear", loss="mean_squared_error"), _PRICES, [5.1e10, 3e9, 1e9])


@pytest.mark.parametrize(("mean", "found"), [(3.0, False), (90.0, False), (400.0, True)])
def test_how_far_is_far(tmp_path: Path, mean: float, found: bool) -> None:
    run = Run(tmp_path / "run")
    target = {**NUMBERS, "min": mean - 3, "max": mean + 3, "mean": mean}
    trained(run, dense("linear", loss="mean_squared_error"), target, [mean**2] * 3)
    assert ("targets-not-scaled" in run.slugs()) is found


def test_the_constant_answer_is_the_measure(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.strength is Strength.SUPPORTED and facts(first)["training.course"]["constant"] == 6.4e9
    assert remedies(first) == ["targets.standardise", "model.rescale-last"]
    assert title_of(first) == "the targets are 52,000 to 510,000, far from where a network starts"
