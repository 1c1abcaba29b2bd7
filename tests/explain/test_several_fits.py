"""Fits in several threads at once, and losses below zero: counts and sizes that mean something else."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import events as ev
from tests.explain.made import Run


def test_fits_in_two_threads_are_counted_as_one_and_blamed_for_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(type="array", cardinality=8, where="train.py:20"))
    run.probe(ev.FitStarted(fit=2, epochs=4, planned_steps_per_epoch=8))
    for epoch, steps in ((0, 8), (0, 8), (1, 8), (2, 8), (1, 8), (3, 0)):
        run.probe(ev.EpochDone(fit=2, epoch=epoch, steps=steps, logs={"loss": 0.5}))
    run.probe(ev.FitDone(fit=2, steps=32, epochs=7, epochs_done=6, steps_by_epoch=[8, 8, 8, 8, 8, 0]))
    run.probe(
        ev.EpochDone(fit=1, epoch=2, logs={"loss": 0.3}), ev.EpochDone(fit=1, epoch=3, logs={"loss": 0.1})
    )
    run.probe(ev.FitStarted(fit=1, epochs=4))
    run.probe(ev.FitDone(fit=1, steps=32, epochs=1, epochs_done=2, steps_by_epoch=[0, 0]))
    run.ended(0)
    verdict = run.verdict()
    assert (verdict.outcome, verdict.findings) == ("finished", ())


def test_a_loss_that_falls_far_below_zero_has_not_grown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=2, steps=10)
    for step in range(1, 21):
        run.probe(ev.LossSeen(step=step, logs={"loss": 0.1 - 3.0 * step**2}, learning_rate=1e-3))
    run.epochs([10, 10], [-100.0, -1000.0])
    run.ended(0)
    assert run.verdict().findings == ()
