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
