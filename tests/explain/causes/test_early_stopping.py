"""EarlyStopping did what it was configured for, or was configured against its metric."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal import events as ev
from tests.explain.made import Run, facts


def example(run: Run) -> None:
    run.fit(epochs=50)
    run.probe(
        ev.StopRequested(
            by="EarlyStopping",
            epoch=4,
            step=500,
            where="keras/src/callbacks/early_stopping.py:148",
            settings={"monitor": "val_loss", "patience": 3, "best": 0.41, "stopped_epoch": 4},
        )
    )
    run.epochs([100] * 5, stopped=True)
    run.ended(0)


def near_miss(run: Run) -> None:
    """Armed, and never fired."""
    run.fit(epochs=5, callbacks=[{"class": "EarlyStopping", "settings": {"monitor": "loss", "patience": 3}}])
    run.epochs([100] * 5)
    run.ended(0)


def test_the_epoch_and_the_settings_are_values(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.normal and first.title.kind == "early-stopping"
    assert (first.title.values["epoch"], first.title.values["epochs"]) == (5, 50)
    assert facts(first)["early-stopping.watches"] == {"monitor": "val_loss", "patience": 3, "best": 0.41}
    assert first.remedies[0].values == {"monitor": "val_loss", "patience": 6}


@pytest.mark.parametrize(
    ("monitor", "mode", "wrong"),
    [
        ("val_loss", "max", True),
        ("val_accuracy", "min", True),
        ("val_loss", "min", False),
        ("neg_loss", "max", False),
        ("val_iou_loss", "min", False),
        ("val_brier_score", "min", False),
        ("val_accuracy", "auto", False),
    ],
)
def test_a_mode_against_the_sense_of_its_metric(tmp_path: Path, monitor: str, mode: str, wrong: bool) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=50)
    settings = {"monitor": monitor, "mode": mode, "patience": 3, "stopped_epoch": 4}
    run.probe(ev.StopRequested(by="EarlyStopping", epoch=4, step=500, settings=settings))
    run.epochs([100] * 5, stopped=True)
    run.ended(0)
    assert (run.first().title.kind == "early-stopping.wrong-mode") == wrong
    assert run.first().normal == (not wrong)


def test_our_own_trainer_stops_early(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=3)
    settings = {"monitor": "AP", "waited": 3, "patience": 3, "best": 0.5, "best_step": 100}
    run.probe(ev.StopRequested(by="early-stopping", epoch=1, step=200, settings=settings))
    run.epochs([100, 100], stopped=True)
    run.ended(0)
    assert run.first().title.values == {"step": 200, "steps": 300}
    assert facts(run.first())["early-stopping.best"] == {"best": 0.5, "step": 100}
    assert run.first().remedies[0].values == {"patience": 6}
