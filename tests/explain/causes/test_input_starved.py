"""A training that waits for data at most steps, and one that only pauses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, pipeline, remedies


def _step(share: float) -> dict[str, Any]:
    """Samples of a training that waits for this share of its time."""
    return {
        "rss_bytes": 600 * MIB, "phase": "step", "fit": 1, "step": lambda n: 4 * n + 4, "cpu_s": lambda n: 1.9 * n,
        "data_wait_s": lambda n: share * n, "compute_s": lambda n: (1 - share) * n,
    }  # fmt: skip


def _trained(run: Run, share: float, **more: Any) -> None:
    run.fit(data_wait="sampled", **more)
    run.samples(30, **_step(share))
    run.epochs([100, 100, 100])
    run.ended(0)


def example(run: Run) -> None:
    _trained(run, 0.9)


def near_miss(run: Run) -> None:
    _trained(run, 0.1)


def test_the_share_of_the_time_and_the_cores(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.title.values, first.strength, first.ends) == ({"share": 0.9}, Strength.SUPPORTED, False)
    cores = facts(first)["cpu.used-meanwhile"]
    assert (round(cores["used"], 1), cores["cores"], cores["python_fed"]) == (1.9, 2, False)
    assert remedies(first) == ["pipeline.parallel-and-prefetch", "pipeline.do-once"]


def test_data_made_by_python_is_to_leave_python(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _trained(run, 0.9, data=pipeline({"op": "generator"}, python_fed=True))
    assert remedies(run.first())[0] == "pipeline.out-of-python"


def test_a_small_share_is_ruled_out_with_its_number(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    near_miss(run)
    [ruled_out] = [one for one in run.verdict().ruled_out if one.cause == "input-starved"]
    assert (ruled_out.kind, round(ruled_out.values["share"], 2)) == ("input-starved.small-share", 0.1)


def _waits(path: Path, waited_s: list[float]) -> Run:
    """One sample a second: 10 steps each, with the seconds waited in total so far."""
    run = Run(path)
    run.fit(steps=10 * len(waited_s), epochs=1)
    run.samples(
        len(waited_s), rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: 10 * (n + 1),
        data_wait_s=lambda n: waited_s[n], compute_s=lambda n: (n + 1) * 0.05,
    )  # fmt: skip
    run.epochs([10 * len(waited_s)])
    run.ended(0)
    return run


def test_two_pauses_of_the_data_are_not_starvation(tmp_path: Path) -> None:
    paused = [0.01 * n + (9.0 if n >= 20 else 0.0) + (9.0 if n >= 50 else 0.0) for n in range(80)]
    run = _waits(tmp_path / "a", paused)
    assert "input-starved" not in run.slugs()
    assert "input-starved.few-steps" in [one.kind for one in run.verdict().ruled_out]
    assert _waits(tmp_path / "b", [0.9 * (n + 1) for n in range(80)]).blamed() == ["input-starved"]


def test_a_long_wait_for_the_first_batch_does_not_hide_that_every_step_waits(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(steps=60, epochs=2)
    run.samples(
        60, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: n + 1,
        data_wait_s=lambda n: 0.4 * n, compute_s=lambda n: 0.1 * n,
    )  # fmt: skip
    run.samples(
        20, rss_bytes=600 * MIB, phase="fill", fit=1, step=60, data_wait_s=24.0, compute_s=6.0,
        beat_age_s=lambda n: float(n),
    )  # fmt: skip
    run.samples(
        60, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: n + 61,
        data_wait_s=lambda n: 24 + 0.4 * n, compute_s=lambda n: 6 + 0.1 * n,
    )  # fmt: skip
    run.epochs([60, 60])
    run.ended(0)
    assert run.blamed() == ["input-starved"]


def test_a_run_without_a_step_is_not_starved(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.samples(60, rss_bytes=MIB, phase="data-wait", fit=1, step=0, data_wait_s=lambda n: float(n))
    run.ended(signal="SIGINT", stopped_by_us="interrupt")
    assert "input-starved" not in run.slugs()


def test_a_long_exit_is_not_a_pause_between_steps(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(data_wait="sampled")
    step = {"rss_bytes": 600 * MIB, "fit": 1}
    run.samples(
        30, **step, phase="step", step=lambda n: 30 * n + 30, data_wait_s=lambda n: 0.55 * n,
        compute_s=lambda n: 0.3 * n, beat_age_s=0.0,
    )  # fmt: skip
    run.samples(
        16, **step, phase="between", step=900, data_wait_s=16.0, compute_s=8.7, beat_age_s=lambda n: float(n)
    )
    run.ended(0)
    assert run.slugs() == ["input-starved"]


def test_the_pipeline_at_each_look_counts_before_a_sum_that_lags(tmp_path: Path) -> None:
    """By the sum it waited for 58 % of the time, by each look for 84."""
    run = Run(tmp_path / "run")
    run.fit(data_wait="sampled")
    run.probe(ev.PipelineSeen(role="train", step=100, waiting_share=0.84, step_s=0.025))
    run.samples(30, **{**_step(0.58), "step": lambda n: 30 * n + 30})
    for step in (400, 800):
        run._tick()
        run.probe(ev.PipelineSeen(role="train", step=step, waiting_share=0.84, step_s=0.025))
    run.ended(0)
    assert "input-starved" not in [one.cause for one in run.verdict().ruled_out]


@pytest.mark.parametrize(("first_s", "found"), [(2.4, True), (0.1, False)])
def test_the_first_batch_of_every_further_pass_is_waited_for_too(
    tmp_path: Path, first_s: float, found: bool
) -> None:
    """Two passes of a loop of 7.5 s of waiting in the steps; the second had to wait for its first batch."""
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:41"))
    run.probe(ev.PassDone(number=1, steps=20, duration_s=9.2, first_step_s=5.6))
    run.probe(ev.PassDone(number=2, steps=20, duration_s=6.9, first_step_s=first_s))
    run.samples(
        11, rss_bytes=600 * MIB, phase="step", step=lambda n: 4 * n,
        data_wait_s=lambda n: 0.75 * n, compute_s=lambda n: 0.06 * n,
    )  # fmt: skip
    run.ended(0)
    assert ("input-starved" in run.slugs()) is found
