"""Models that stay in memory, fit after fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts


def _fits(run: Run, *, alive: int) -> None:
    for fit in range(1, 9):
        run.probe(ev.ModelSeen(name=f"model_{fit}", parameters=10, trainable_parameters=10))
        run.probe(ev.FitStarted(fit=fit, epochs=2, planned_steps_per_epoch=10))
        run.epochs([10, 10], fit=fit)
        run.samples(4, rss_bytes=(600 + 170 * fit) * MIB, phase="step", fit=fit, step=20 * fit)
    run.probe(ev.HoldingsSeen(object_counts={"Sequential": alive}))
    run.ended(signal="SIGKILL", oom=1)


def example(run: Run) -> None:
    _fits(run, alive=8)


def near_miss(run: Run) -> None:
    for fit in range(1, 9):
        run.probe(ev.FitStarted(fit=fit, epochs=2, planned_steps_per_epoch=10))
        run.epochs([10, 10], fit=fit)
        run.samples(4, rss_bytes=(600 + 10 * fit) * MIB, phase="step", fit=fit, step=20 * fit)
    run.ended(0)


def test_memory_and_models_pile_up_fit_by_fit(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.led_to) == (Strength.ESTABLISHED, "killed-for-memory")
    assert facts(first)["fits.counted"] == {"fits": 8, "models": 8}
    assert facts(first)["memory.grew-by-fit"] == {"bytes": [170 * MIB] * 7}
    assert facts(first)["models.alive"] == {"models": 8}


@pytest.mark.parametrize(("alive", "strength"), [(2, Strength.SUPPORTED), (8, Strength.ESTABLISHED)])
def test_the_number_of_living_models_decides_how_sure_it_is(
    tmp_path: Path, alive: int, strength: Strength
) -> None:
    run = Run(tmp_path / "run")
    _fits(run, alive=alive)
    assert (run.first().cause, run.first().strength) == ("model-rebuilt", strength)


def test_a_list_of_results_explains_it_better(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for mib in (0, 900):
        item = {"name": "results", "type": "list", "length": 8, "bytes": mib * MIB}
        run.probe(ev.HoldingsSeen(step=20, items=[item]))
    _fits(run, alive=8)
    found = [one.strength for one in run.verdict().findings if one.cause == "model-rebuilt"]
    assert found == [Strength.POSSIBLE]
