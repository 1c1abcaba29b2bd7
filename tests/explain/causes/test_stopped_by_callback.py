"""A callback that set stop_training."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal import events as ev
from tests.explain.made import Run, facts


def example(run: Run) -> None:
    run.fit(epochs=10)
    run.probe(ev.StopRequested(by="GoodEnough", where="train.py:18", epoch=2, step=300, logs={"loss": 0.05}))
    run.epochs([100] * 3, stopped=True)
    run.ended(0)


def near_miss(run: Run) -> None:
    """Asked in the last epoch, where it changes nothing."""
    run.fit(epochs=3)
    run.probe(ev.StopRequested(by="GoodEnough", where="train.py:18", epoch=2, step=300))
    run.epochs([100] * 3, stopped=True)
    run.ended(0)


def test_who_stopped_it_where_and_at_which_numbers(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().title.values == {"by": "GoodEnough", "epoch": 3, "step": 300, "where": "train.py:18"}
    assert facts(run.first())["logs.then"] == {"logs": {"loss": 0.05}}


@pytest.mark.parametrize(
    ("losses", "normal"), [([6.0, 1.0, 0.05], True), ([6.0, 5.8, 5.7], False), ([6.0, 1.0, 3.0], False)]
)
def test_a_stop_at_a_good_result_is_no_fault(tmp_path: Path, losses: list[float], normal: bool) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=10)
    for epoch, loss in enumerate(losses):
        run.probe(ev.EpochDone(fit=1, epoch=epoch, steps=100, logs={"loss": loss}))
    run.probe(
        ev.StopRequested(by="GoodEnough", where="train.py:18", epoch=2, step=300, logs={"loss": losses[-1]})
    )
    run.epochs([], stopped=True)
    run.ended(0)
    found = next(one for one in run.verdict().findings if one.cause == "stopped-by-callback")
    assert found.normal is normal
