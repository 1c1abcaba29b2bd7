"""`ignore_errors` drops data: fewer steps than planned, a line in the log, or a count by the probe."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, pipeline, remedies

_IGNORES = {"op": "ignore_errors", "where": "train.py:18"}


def example(run: Run) -> None:
    run.fit(steps_per_epoch=25, steps=25, data=pipeline({"op": "tfrecord"}, _IGNORES, cardinality=-2))
    run.epochs([15, 15, 15])
    run.ended(0)


def near_miss(run: Run) -> None:
    run.fit(steps=25, data=pipeline({"op": "tfrecord"}, _IGNORES, cardinality=-2))
    run.epochs([25, 25, 25])
    run.ended(0)


def test_fewer_steps_than_planned(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.ends) == (Strength.SUPPORTED, False)
    assert facts(first)["pipeline.ignores-errors"] == {"where": "train.py:18"}
    assert facts(first)["steps.by-epoch"] == {"steps": [15, 15, 15], "planned": 25}
    assert remedies(first) == ["data.repair", "pipeline.log-errors"]


def test_what_the_probe_counted_establishes_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(data=pipeline({"op": "tfrecord"}, _IGNORES, cardinality=-2))
    run.probe(ev.DataDropped(count=40, unit="records", lost_by_file={"a.tfrecord": 40}))
    run.epochs([100, 100, 100])
    run.ended(0)
    assert (run.first().cause, run.first().strength) == ("data-silently-dropped", Strength.ESTABLISHED)
    lost = {"count": 40, "unit": "records", "lost_by_file": {"a.tfrecord": 40}}
    assert facts(run.first())["data.dropped"] == lost
