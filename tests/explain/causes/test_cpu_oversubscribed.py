"""Many more runnable tasks than cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal.vitals import Process
from tests.explain.made import MIB, Run, facts


def _crowd(run: Run, processes: int, *, pressure: float = 80.0) -> None:
    """So many busy processes beside two busy threads, on two cores."""
    run.fit()
    run.samples(
        20, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: n + 1, thread_states={"R": 2, "S": 30},
        pressure={"cpu.some": pressure}, processes=[Process(pid=4100 + n, state="R") for n in range(processes)],
    )  # fmt: skip
    run.epochs([100, 100, 100])
    run.ended(0)


def example(run: Run) -> None:
    _crowd(run, 12)


def near_miss(run: Run) -> None:
    _crowd(run, 1)


def test_the_tasks_and_their_waiting_are_given(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().title.values == {"tasks": 14, "cores": 2}
    assert facts(run.first())["cpu.crowded"] == {"tasks": 14, "cores": 2, "waited": 0.8, "load": None}
    assert not run.first().ends


@pytest.mark.parametrize(
    ("processes", "pressure", "strength"),
    [(3, 10.0, Strength.POSSIBLE), (3, 60.0, Strength.SUPPORTED), (4, 10.0, Strength.SUPPORTED)],
)
def test_a_small_crowd_is_blamed_only_when_tasks_wait(
    tmp_path: Path, processes: int, pressure: float, strength: Strength
) -> None:
    run = Run(tmp_path / "run")
    _crowd(run, processes, pressure=pressure)
    assert (run.first().cause, run.first().strength) == ("cpu-oversubscribed", strength)
