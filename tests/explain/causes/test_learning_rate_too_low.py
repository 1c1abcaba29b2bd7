"""Steps that change next to nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal import events as ev
from tests.explain.looked_at import FALLS, FLAT, kernel, moves, targets, trained
from tests.explain.made import Run, facts, remedies


def _fit(
    run: Run, rate: float, change: float, *, losses: list[float] = FLAT, optimizer: str = "Adam"
) -> None:
    targets(run)
    seen = (moves(kernel("dense", change / 100), since="step", step=4), moves(kernel("dense", change)))
    trained(run, losses, *seen, model={"learning_rate": rate, "optimizer": optimizer})


def example(run: Run) -> None:
    _fit(run, 1e-8, 2.4e-6)


def near_miss(run: Run) -> None:
    """The weights move at an ordinary rate, and the loss does not fall."""
    _fit(run, 1e-3, 0.05)


def test_the_numbers(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    found = facts(run.first())["weights.hardly-moved"]
    assert (found["learning_rate"], found["steps"], found["optimizer"]) == (1e-8, 240, "Adam")
    assert found["moved"] == pytest.approx(2.4e-5)
    assert remedies(run.first()) == ["learning-rate.raise"]
    assert run.first().remedies[0].values == {"optimizer": "Adam", "learning_rate": 1e-3}


@pytest.mark.parametrize(
    ("rate", "optimizer", "change", "losses", "blamed"),
    [
        (1e-3, "Adadelta", 1e-4, FLAT, True),
        (1e-3, "Adam", 1e-4, FLAT, False),  # another reason: the rate is an ordinary one
        (1e-6, "Adam", 1e-4, FALLS, False),
        (1e-6, "Adam", 0.05, FLAT, False),
    ],
)
def test_rate_motion_and_course_are_needed(
    tmp_path: Path, rate: float, optimizer: str, change: float, losses: list[float], blamed: bool
) -> None:
    run = Run(tmp_path / "run")
    _fit(run, rate, change, losses=losses, optimizer=optimizer)
    assert ("learning-rate-too-low" in run.blamed()) is blamed


def test_restored_weights_may_want_a_tiny_rate(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.Restored(path="best.weights.h5", by="load_weights", where="train.py:22"))
    example(run)
    assert "learning-rate-too-low" not in run.slugs()


@pytest.mark.parametrize(("step", "blamed"), [(1e-8, True), (0.0, False), (1e-3, False)])
def test_without_a_rate_the_steps_decide(tmp_path: Path, step: float, blamed: bool) -> None:
    """On JAX the optimizer is a function: its rate is not seen."""
    run = Run(tmp_path / "run")
    targets(run)
    seen = (moves(kernel("dense", step), since="step", step=4), moves(kernel("dense", 240 * step)))
    trained(run, FLAT, *seen, model={"learning_rate": None, "optimizer": ""})
    assert ("learning-rate-too-low" in run.slugs()) is blamed


@pytest.mark.parametrize(
    ("norms", "unscaled", "losses", "blamed"),
    [
        ([1.0, 1.0, 0.9999], False, FLAT, True),
        ([1.0, 1.0, 0.9999], True, FLAT, False),  # as it should be done
        ([2.1e4, 1.3e5, 8.8e4], False, FLAT, False),  # not clipped
        ([1.0, 1.0, 0.9999], False, FALLS, False),  # an optimizer that does not mind
    ],
)
def test_gradients_that_are_clipped_before_they_are_unscaled(
    tmp_path: Path, norms: list[float], unscaled: bool, losses: list[float], blamed: bool
) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    scaler = ev.ScalerSeen(steps=240, scale=65536.0, unscaled=unscaled, norms=norms, where="train.py:61")
    trained(run, losses, scaler, model={"learning_rate": 0.05, "optimizer": "SGD"})
    assert ("learning-rate-too-low" in run.blamed()) is blamed
