"""The goal of a script, found when a trained state is restored."""

from __future__ import annotations

import sys

import pytest

from holdfast.probe.state import planned_steps
from holdfast.probe.state.planned_steps import PlannedSteps


def restored(at: int) -> PlannedSteps | None:
    return planned_steps.find(at)


@pytest.fixture(autouse=True)
def no_outer_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function under test and `restored`; pytest's own have plans of their own."""
    monkeypatch.setattr(planned_steps, "_MAX_FRAMES", 2)


@pytest.fixture(autouse=True)
def no_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py"])


def trained(
    train_steps: int, steps_per_epoch: int = 10_000, warmup_steps: int = 20_000
) -> PlannedSteps | None:
    """pytest's assertions ask for `locals()`, and variables of a function that does are left alone."""
    return planned_steps.find(300)


def test_a_goal_that_is_reached() -> None:
    assert trained(300) == PlannedSteps("train_steps", 300)


def test_a_goal_beyond_the_state_leaves_something_to_do() -> None:
    assert trained(400) is None


def test_a_goal_among_the_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", "--num_train_steps=200", "--batch_size", "4"])
    assert restored(300) == PlannedSteps("num_train_steps", 200)
    monkeypatch.setattr(sys, "argv", ["train.py", "--max-steps", "500"])
    assert restored(300) is None


def test_no_goal() -> None:
    assert restored(300) is None
