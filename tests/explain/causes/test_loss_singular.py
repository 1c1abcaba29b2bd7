"""The weights broke before the loss did: its gradient is not finite at some value."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from tests.explain.broken_numbers import broke, nan_run
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    nan_run(run, broke(what="weights", name="dense/kernel", weights_finite=False))


def near_miss(run: Run) -> None:
    nan_run(run, broke())


def test_the_weight_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().strength == Strength.SUPPORTED
    assert facts(run.first())["weights.broke-before-loss"]["name"] == "dense/kernel"
    assert remedies(run.first()) == ["loss.add-epsilon", "nan.find-operation"]


def test_weights_that_broke_one_step_before_the_loss(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    nan_run(run, broke(what="loss", weights_finite_before=False))
    assert run.first().cause == "loss-singular"
    assert "weights.broke-one-step-earlier" in facts(run.first())
