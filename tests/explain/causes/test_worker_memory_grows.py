"""Loader processes that grow: all alike, or one alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.vitals import Process
from tests.explain.made import MIB, Run, facts, growing


def example(run: Run) -> None:
    run.probe(ev.WorkersStarted(by="PyDataset", method="fork", count=2, where="train.py:22"))
    run.fit(data=ev.DatasetSeen(type="py_dataset", workers=2, multiprocessing=True, cardinality=100))
    run.samples(
        20,
        rss_bytes=400 * MIB,
        phase="step",
        fit=1,
        step=lambda n: 5 * n + 5,
        processes=lambda n: [Process(pid=pid, private_bytes=(30 + 38 * n) * MIB) for pid in (4100, 4101)],
    )
    run.ended(signal="SIGKILL", oom=1)


def near_miss(run: Run) -> None:
    """Workers of a steady size beside a parent that leaks."""
    run.fit(data=ev.DatasetSeen(type="py_dataset", workers=2, multiprocessing=True, cardinality=100))
    run.samples(
        40,
        rss_bytes=growing(35),
        phase="step",
        fit=1,
        step=lambda n: 10 * n + 10,
        epoch=lambda n: n // 10,
        processes=[Process(pid=pid, private_bytes=60 * MIB) for pid in (4100, 4101)],
    )
    run.ended(signal="SIGKILL", oom=1)


def test_all_workers_grow_and_the_parent_does_not(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.led_to) == (Strength.ESTABLISHED, "killed-for-memory")
    assert facts(first)["workers.grew"] == {"processes": 2, "bytes": 2 * 19 * 38 * MIB, "parent_bytes": 0}
    started = facts(first)["workers.started"]
    assert (started["by"], started["method"], started["count"]) == ("PyDataset", "fork", 2)


@pytest.mark.parametrize(
    ("slower", "first", "strength"),
    [(38, "worker-memory-grows", Strength.ESTABLISHED), (2, "killed-for-memory", Strength.POSSIBLE)],
)
def test_one_process_of_several_that_grows_alone_was_given_something_large(
    tmp_path: Path, slower: int, first: str, strength: Strength
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.WorkersStarted(by="Pool", method="fork", count=2, where="train.py:22"))
    run.samples(
        20,
        rss_bytes=400 * MIB,
        phase="build",
        processes=lambda n: [
            Process(pid=4100, private_bytes=(30 + 38 * n) * MIB),
            Process(pid=4101, private_bytes=(30 + slower * n) * MIB),
        ],
    )
    run.ended(signal="SIGKILL", oom=1)
    findings = {one.cause: one for one in run.verdict().findings}
    assert next(iter(findings)) == first
    found = findings["worker-memory-grows"]
    assert found.strength == strength
    if slower == 2:
        assert found.title.values == {"bytes": 19 * 38 * MIB}
        assert found.against[0].values == {"bytes": 19 * 2 * MIB}
