"""Validations without an end, long ones, and stalled ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, main_in_fit, remedies


def example(run: Run) -> None:
    run.fit(validation=True)
    run.probe(ev.DatasetSeen(role="validation", type="tf.data", cardinality=-1, where="train.py:31"))
    run.probe(ev.ValidationStarted(fit=1, epoch=0))
    run.samples(
        30,
        rss_bytes=600 * MIB,
        phase="validation",
        fit=1,
        step=100,
        train_batches=100,
        test_batches=lambda n: 40 * n + 4,
    )
    run.ended(signal="SIGINT")


def near_miss(run: Run) -> None:
    """Long, and with an end."""
    run.fit(validation=True)
    run.probe(ev.DatasetSeen(role="validation", type="tf.data", cardinality=5000))
    run.probe(ev.ValidationStarted(fit=1, epoch=0, planned_batches=5000))
    run.samples(
        30,
        rss_bytes=600 * MIB,
        phase="validation",
        fit=1,
        step=100,
        train_batches=100,
        test_batches=lambda n: 40 * n + 4,
    )
    run.ended(signal="SIGINT")


def _validating(
    path: Path, data: ev.DatasetSeen | None, *, batches: int = 40, fit: int | None = 1, **fields: Any
) -> Run:
    run = Run(path / "run")
    run.fit(validation=True, **fields)
    if data is not None:
        run.probe(data)
    run.probe(ev.ValidationStarted(fit=fit, epoch=0))
    run.samples(
        30, rss_bytes=600 * MIB, phase="validation", fit=1, step=100, train_batches=100,
        test_batches=lambda n: batches * n + 4,
    )  # fmt: skip
    run.ended(signal="SIGINT")
    return run


def test_infinite_data_without_validation_steps(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.strength == Strength.ESTABLISHED
    assert first.title.values == {"batches": 1164, "infinite": True}
    assert facts(first)["validation.unfinished"] == {"batches": 1164, "training_steps": 100}
    assert facts(first)["dataset.infinite"] == {"where": "train.py:31"}
    assert remedies(first) == ["fit.give-validation-steps"]


def test_validation_steps_end_it(tmp_path: Path) -> None:
    data = ev.DatasetSeen(role="validation", type="tf.data", cardinality=-1)
    run = _validating(tmp_path, data, batches=10, validation_steps=5000)
    assert "validation-never-ends" not in run.slugs()


@pytest.mark.parametrize(("batches", "fit", "found"), [(40, 1, True), (30, 1, False), (40, None, False)])
def test_data_of_unknown_length_by_how_much_longer_it_is_than_training(
    tmp_path: Path, batches: int, fit: int | None, found: bool
) -> None:
    data = ev.DatasetSeen(role="validation", type="generator", cardinality=-2)
    run = _validating(tmp_path, data, batches=batches, fit=fit)
    strengths = [one.strength for one in run.verdict().findings if one.cause == "validation-never-ends"]
    assert strengths == ([Strength.SUPPORTED] if found else [])


def test_the_supervisor_saw_it_run_beyond_every_plan(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.supervisor(ev.EndlessSeen(what="validation", batches=900, for_s=90.0, why="no plan", sure=True))
    near_miss(run)
    first = run.first()
    assert (first.cause, first.strength) == ("validation-never-ends", Strength.ESTABLISHED)
    assert facts(first)["validation.endless"] == {"batches": 900, "seconds": 90.0, "why": "no plan"}


def test_a_validation_that_stalled_is_not_endless(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(validation=True)
    run.probe(ev.DatasetSeen(role="validation", type="tf.data", cardinality=-1))
    run.probe(ev.ValidationStarted(fit=1, epoch=0))
    run.samples(8, rss_bytes=600 * MIB, phase="validation", fit=1, step=100, test_batches=7)
    run.stalled("validation", main_in_fit())
    run.stopped()
    assert "validation-never-ends" not in run.slugs()
