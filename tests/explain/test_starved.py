"""A training that waits for data, however it is told and whatever comes after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, why_of


def _starved(path: Path) -> Run:
    run = Run(path)
    run.fit(data_wait="sampled")
    run.samples(30, **_sample(lambda n: 30 * n + 30, lambda n: 0.55 * n, 0.0))
    return run


def _sample(step: Any, data_wait_s: Any, beat_age_s: Any) -> dict[str, Any]:
    return {
        "rss_bytes": 600 * MIB, "phase": "step", "fit": 1, "step": step, "data_wait_s": data_wait_s,
        "compute_s": lambda n: 0.3 * n, "beat_age_s": beat_age_s,
    }  # fmt: skip


def test_a_long_exit_is_no_pause_between_steps(tmp_path: Path) -> None:
    run = _starved(tmp_path / "run")
    run.samples(16, **{**_sample(900, 16.0, lambda n: float(n)), "compute_s": 8.7, "phase": "between"})
    run.ended(0)
    [first] = run.verdict().findings
    assert (first.cause, first.strength) == ("input-starved", Strength.SUPPORTED)


def test_what_the_pipeline_tells_at_each_look_counts_before_a_sum_that_lags(tmp_path: Path) -> None:
    """By the sum it waited for 58 % of the time, by each look for 84."""
    run = Run(tmp_path / "run")
    run.fit(data_wait="sampled")
    run.probe(ev.PipelineSeen(role="train", step=100, waiting_share=0.84, step_s=0.025))
    run.samples(
        30, **{**_sample(lambda n: 30 * n + 30, lambda n: 0.58 * n, 0.0), "compute_s": lambda n: 0.42 * n}
    )
    for step in (400, 800):
        run._tick()
        run.probe(ev.PipelineSeen(role="train", step=step, waiting_share=0.84, step_s=0.025))
    run.ended(0)
    said = [why_of(one) for one in run.verdict().ruled_out if one.cause == "input-starved"]
    assert not any("58%" in why for why in said), said
