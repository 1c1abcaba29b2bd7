"""Memory that rises while validating, and what keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, growing, remedies


def example(run: Run) -> None:
    run.fit(validation=True)
    run.samples(10, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: 10 * n + 10)
    run.samples(14, rss_bytes=growing(100), phase="validation", fit=1, step=100, test_batches=lambda n: n + 1)
    run.ended(signal="SIGKILL", oom=1)


def near_miss(run: Run) -> None:
    """Training grows, validation does not."""
    run.fit(validation=True)
    for epoch in range(4):
        run.samples(
            8,
            rss_bytes=growing(40, 600 + 320 * epoch),
            phase="step",
            fit=1,
            epoch=epoch,
            step=lambda n, epoch=epoch: 100 * epoch + 10 * n + 10,
        )
        run.samples(
            4,
            rss_bytes=(600 + 320 * epoch + 290) * MIB,
            phase="validation",
            fit=1,
            epoch=epoch,
            step=100 * epoch + 80,
            test_batches=lambda n: n + 1,
        )
    run.ended(signal="SIGKILL", oom=1)


def test_growth_in_validation_only(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.led_to) == (Strength.SUPPORTED, "killed-for-memory")
    assert first.title.values == {"name": ""}
    assert facts(first)["memory.grew"]["when"] == "in-validation"
    assert facts(first)["memory.grew-in-training"] == {"bytes": 0}
    assert remedies(first) == ["evaluation.keep-numbers"]


@pytest.mark.parametrize(("mib", "named"), [(1000, True), (300, False)])
def test_the_container_that_grew_as_much_is_named(tmp_path: Path, mib: int, named: bool) -> None:
    run = Run(tmp_path / "run")
    item = {"name": "Metric.boxes", "type": "list", "length": 90, "bytes": mib * MIB, "where": "metric.py:8"}
    run.probe(ev.HoldingsSeen(step=100, items=[item]))
    example(run)
    first = run.first()
    assert first.title.values == {"name": "Metric.boxes" if named else ""}
    assert first.strength == (Strength.ESTABLISHED if named else Strength.SUPPORTED)
    assert facts(first)["object.grew"]["bytes"] == mib * MIB


@pytest.mark.parametrize("in_training", [False, True])
def test_a_loop_that_collects_answers_after_a_pass(tmp_path: Path, in_training: bool) -> None:
    """The same growth of the same list: while no step is done, or at the steps of the next pass."""
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:45"))
    run.samples(4, rss_bytes=600 * MIB, phase="step", step=lambda n: 5 * n + 5)
    run.probe(ev.PassDone(number=1, steps=20, duration_s=4.0))
    run.samples(10, rss_bytes=growing(100), phase="step", step=lambda n: 20 + n * in_training)
    item = {"name": "scores in run_val", "type": "list", "length": 52, "where": "train.py:50"}
    run.probe(ev.HoldingsSeen(step=20, items=[{**item, "bytes": 900 * MIB}]))
    run.ended(signal="SIGKILL", oom=1)
    first = run.first()
    assert first.cause == ("memory-leak" if in_training else "evaluation-accumulates")
    assert first.title.values["name"] == "scores in run_val"
