"""A model, or all functions, that run eagerly."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies


def _trained(run: Run, *, eager: bool, steps: int = 100) -> None:
    run.probe(ev.ModelSeen(parameters=10, trainable_parameters=10, run_eagerly=eager, where="train.py:25"))
    run.fit(steps=steps)
    run.epochs([steps] * 3)
    run.ended(0)


def example(run: Run) -> None:
    _trained(run, eager=True)


def near_miss(run: Run) -> None:
    _trained(run, eager=False)


@pytest.mark.parametrize(("steps", "strength"), [(100, Strength.SUPPORTED), (10, Strength.POSSIBLE)])
def test_a_short_run_may_be_debugging(tmp_path: Path, steps: int, strength: Strength) -> None:
    run = Run(tmp_path / "run")
    _trained(run, eager=True, steps=steps)
    assert (run.first().cause, run.first().strength) == ("eager-execution", strength)
    assert facts(run.first())["model.runs-eagerly"] == {"everywhere": False, "where": "train.py:25"}


def test_functions_that_all_run_eagerly_are_known_by_the_switch(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.FrameworkSeen(name="tensorflow", environment={"functions_run_eagerly": "true"}))
    run.probe(ev.ModelSeen(name="net", run_eagerly=False))
    run.fit()
    run.probe(ev.EpochDone(epoch=0, steps=200, duration_s=30.0, logs={"loss": 0.5}))
    run.probe(ev.FitDone(steps=200, epochs=1, epochs_done=1, steps_by_epoch=[200]))
    run.ended(0)
    assert (run.first().cause, run.first().strength) == ("eager-execution", Strength.SUPPORTED)
    assert facts(run.first())["model.runs-eagerly"]["everywhere"]
    assert facts(run.first())["steps.duration"] == {"seconds": 0.15}
    assert remedies(run.first()) == ["eager.switch-off"]
