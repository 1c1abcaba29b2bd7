"""A training that ended too early."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from tests.explain.looked_at import FLAT, targets, trained
from tests.explain.made import Run, facts

_FALLING = [0.95, 0.9, 0.86, 0.82, 0.78]


def example(run: Run) -> None:
    targets(run)
    trained(run, _FALLING, steps=1, accuracy=0.5)


def near_miss(run: Run) -> None:
    """As short, and it has learned."""
    targets(run)
    trained(run, [0.7, 0.5, 0.4], steps=20, accuracy=0.9)


def test_updates_and_accuracy(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().strength is Strength.SUPPORTED
    assert facts(run.first())["updates.few"]["steps"] == 5
    assert facts(run.first())["training.accuracy-against-majority"] == {"accuracy": 0.5, "majority": 0.5}


@pytest.mark.parametrize(
    ("steps", "accuracy", "losses", "strength"),
    [
        (30, None, _FALLING, None),  # it falls by less than a tenth, and what it has learned is not known
        (
            1,
            0.9,
            [0.7, 0.68, 0.65, 0.62, 0.6],
            Strength.SUPPORTED,
        ),  # five updates, hardly below a constant answer
        (1, 0.9, [0.7, 0.6, 0.5, 0.4, 0.3], None),
        (30, None, [3.0, 2.6, 2.2, 1.8, 1.4], Strength.POSSIBLE),
        (100, 0.5, _FALLING, None),
        (5, 0.9, _FALLING, None),
    ],
)
def test_how_sure_it_is(
    tmp_path: Path, steps: int, accuracy: float | None, losses: list[float], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, losses, steps=steps, accuracy=accuracy)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("too-few-updates") == strength


def test_a_flat_loss_needs_no_more_updates(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, [*FLAT[:2], FLAT[0]], steps=20, accuracy=0.5)
    assert "too-few-updates" not in run.slugs()


def test_a_trial_at_chance_after_a_handful_of_updates_is_possible(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, [0.7, 0.71], steps=2, accuracy=0.5)
    assert [(one.cause, one.strength) for one in run.verdict().findings] == [
        ("too-few-updates", Strength.POSSIBLE)
    ]


def test_a_trial_whose_answers_are_better_than_chance_is_not_blamed_for_its_loss(tmp_path: Path) -> None:
    """As keras.io's mnist_convnet after 16 updates: 23 % of ten classes are right, and the loss is near log(10)."""
    run = Run(tmp_path / "run")
    targets(run, {str(name): 10 for name in range(10)})
    trained(run, [2.33, 2.24], steps=8, accuracy=0.23)
    assert run.slugs() == []


@pytest.mark.parametrize(
    ("steps", "losses", "strength"),
    [
        (
            8,
            [0.694, 0.6935],
            Strength.POSSIBLE,
        ),  # as keras.io's reproducibility_recipes: a trial of two epochs
        (4, [0.694, 0.6935], Strength.POSSIBLE),  # as eanet
        (2, [0.694, 0.6935], Strength.POSSIBLE),  # one batch is half of the data
        (8, [0.695, 0.694, 0.6935], Strength.SUPPORTED),
    ],
)
def test_two_epochs_are_a_trial(tmp_path: Path, steps: int, losses: list[float], strength: Strength) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, losses, steps=steps, accuracy=0.5)
    assert [(one.cause, one.strength) for one in run.verdict().findings] == [("too-few-updates", strength)]
