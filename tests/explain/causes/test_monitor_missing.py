"""A callback that watches a metric which is not logged."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import events as ev
from tests.explain.made import Run, facts


def _monitored(run: Run, monitor: str) -> None:
    run.fit(epochs=5, callbacks=[{"class": "EarlyStopping", "settings": {"monitor": monitor, "patience": 1}}])
    for epoch in range(5):
        run.probe(
            ev.EpochDone(
                epoch=epoch, steps=100, logs={"loss": 1.0 / (epoch + 1), "val_loss": 1.0 / (epoch + 1)}
            )
        )
    run.probe(ev.FitDone(steps=500, epochs=5, epochs_done=5, steps_by_epoch=[100] * 5))
    run.ended(0)


def example(run: Run) -> None:
    _monitored(run, "val_los")


def near_miss(run: Run) -> None:
    _monitored(run, "val_loss")


def test_the_nearest_metric_is_suggested(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"callback": "EarlyStopping", "monitor": "val_los", "never_acts": True}
    assert facts(first)["metrics.are"] == {"metrics": ["loss", "val_loss"]}
    assert first.remedies[0].values == {"callback": "EarlyStopping", "metric": "val_loss"}
