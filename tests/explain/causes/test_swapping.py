"""Steps that wait for swap, and faults that are something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from tests.explain.made import MIB, Run, facts


def example(run: Run) -> None:
    run.samples(
        30,
        rss_bytes=700 * MIB,
        phase="step",
        fit=1,
        step=lambda n: n,
        major_faults=lambda n: 4000 * n,
        swap_in_pages=lambda n: 1000 + 9000 * n,
        swap_bytes=400 * MIB,
    )
    run.ended(0)


def near_miss(run: Run) -> None:
    """Major faults of a memory-mapped dataset, nothing in swap."""
    run.samples(
        30,
        rss_bytes=700 * MIB,
        phase="step",
        fit=1,
        step=lambda n: n,
        major_faults=lambda n: 4000 * n,
        swap_in_pages=1000,
        swap_bytes=0,
    )
    run.ended(0)


def _paged(path: Path, **fields: Any) -> Run:
    run = Run(path / "run")
    run.samples(30, rss_bytes=700 * MIB, phase="step", fit=1, step=lambda n: n, **fields)
    run.ended(0)
    return run


def test_faults_and_pages_a_second(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.ends) == (Strength.SUPPORTED, False)
    assert facts(first)["swap.faults"] == {"faults_per_s": 4000.0, "bytes_per_s": 9000 * 4096}
    assert facts(first)["swap.used"] == {"bytes": 400 * MIB}


def test_few_faults_are_only_possible(tmp_path: Path) -> None:
    faults = {"major_faults": lambda n: 100 * n, "swap_in_pages": lambda n: 100 * n}
    assert _paged(tmp_path, **faults).first().strength == Strength.POSSIBLE


@pytest.mark.parametrize(("mib", "found"), [(400, ["swapping"]), (16, [])])
def test_without_the_machines_count_memory_in_swap_decides(
    tmp_path: Path, mib: int, found: list[str]
) -> None:
    assert _paged(tmp_path, major_faults=lambda n: 4000 * n, swap_bytes=mib * MIB).slugs() == found
