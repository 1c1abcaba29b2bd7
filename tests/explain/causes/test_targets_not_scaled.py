"""Targets far from where a network starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.learning_runs import NUMBERS, dense, trained
from tests.explain.made import Run, facts, remedies, title_of

_PRICES = {**NUMBERS, "min": 52000.0, "max": 510000.0, "mean": 210000.0, "std": 80000.0}

_SPREAD = {"min": 52000.0, "max": 510000.0, "mean": 210000.0, "std": 80000.0}


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


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        (5.05e10, 4.9e10, True),  # the mean of the squares: 210,000² + 80,000²
        (2.1e5, 2.0e5, True),  # the mean itself: an absolute error
        (5.05e10, 6.0e9, False),
        (3.2, 3.1, False),
    ],
)
def test_a_loop_whose_loss_cannot_be_read_is_judged_by_its_size(
    tmp_path: Path, first: float, last: float, found: bool
) -> None:
    """An answer of 0 to every input has this error."""
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="jax", where="train.py:93"))
    run.probe(ev.ValuesSeen(role="target", step=0, rows=400, shape=[], distinct=400, **_SPREAD))
    for step in range(1, 41):
        run.probe(ev.LossSeen(step=step, step_loss=first if step <= 20 else last))
    run.ended(0)
    assert ("targets-not-scaled" in run.slugs()) is found
