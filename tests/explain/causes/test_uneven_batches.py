"""Processes of a group with unequal numbers of batches."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import events as ev
from tests.explain.made import Run, facts


def example(run: Run) -> None:
    run.raised("RuntimeError", "Inconsistent number of batches: rank 0 has 11, rank 1 has 10")


def near_miss(run: Run) -> None:
    run.raised("RuntimeError", "the batch is uneven")


def test_the_coordinator_counts_the_steps_of_each(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.supervisor(ev.GroupRemark(remark="apart", text="steps differ", rank_steps={"0": 11, "1": 10}))
    run.ended(signal="SIGKILL", stopped_by_us="stall")
    finding = next(one for one in run.verdict().findings if one.cause == "uneven-batches")
    assert facts(finding)["group.steps"] == {"by_rank": {"0": 11, "1": 10}}
