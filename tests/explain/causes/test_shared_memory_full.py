"""SIGBUS with a full /dev/shm, with a roomy one, and the words of libraries for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from tests.explain.made import GIB, MIB, Run, facts


def _bus_error(run: Run, *, free_bytes: int, signal: str = "SIGBUS", **disks: int) -> None:
    free = {"shm": free_bytes, **disks}
    run.samples(5, rss_bytes=300 * MIB, phase="step", fit=1, step=9, disks_free_bytes=free)
    run.ended(signal=signal)


def example(run: Run) -> None:
    _bus_error(run, free_bytes=0)


def near_miss(run: Run) -> None:
    _bus_error(run, free_bytes=900 * MIB, signal="SIGSEGV")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run", disks=[{"what": "shm", "total_bytes": 64 * MIB}])


def test_the_least_free_space_is_given(run: Run) -> None:
    example(run)
    assert run.first().strength == Strength.ESTABLISHED
    assert facts(run.first())["shared-memory.least-free"] == {"free_bytes": 0, "total_bytes": 64 * MIB}


def test_where_shared_memory_was_never_low_it_may_be_another_file(run: Run) -> None:
    _bus_error(run, free_bytes=GIB // 2)
    first = run.first()
    assert (first.title.kind, first.strength) == ("shared-memory-full.page-missing", Strength.SUPPORTED)
    assert [fact.kind for fact in first.against] == ["shared-memory.never-low"]


def test_another_full_disk_is_named(run: Run) -> None:
    _bus_error(run, free_bytes=GIB, tmp=0)
    assert run.first().title.kind == "shared-memory-full"
    assert facts(run.first())["disk.low"] == {"disk": "tmp", "free_bytes": 0}


def test_the_message_is_enough(run: Run) -> None:
    run.raised("RuntimeError", "unable to mmap 64 bytes from file </torch_1_2>: Cannot allocate memory")
    assert (run.first().cause, run.first().strength) == ("shared-memory-full", Strength.ESTABLISHED)


def test_one_that_was_large_a_moment_before_is_hardly_full(run: Run) -> None:
    _bus_error(run, free_bytes=20 * GIB)
    assert run.blamed() == ["native-crash"]
