"""A generator that several threads read."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    run.raised("ValueError", "generator already executing")


def near_miss(run: Run) -> None:
    run.raised("ValueError", "the generator gave no batch")


def test_the_number_of_workers_is_given(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(data=ev.DatasetSeen(type="generator", workers=8, cardinality=-2))
    example(run)
    assert facts(run.first())["data.workers"] == {"workers": 8}
    assert remedies(run.first()) == ["generator.make-a-dataset", "worker.use-one"]
