"""A cache of decoded elements, by the shape and the size of the growth."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from tests.explain.made import MIB, Run, facts, growing, pipeline


def example(run: Run) -> None:
    run.fit(
        data=pipeline(
            {"op": "map"},
            {"op": "cache", "where": "train.py:14", "cardinality": 2000},
            {"op": "batch", "batch_size": 4},
            element_bytes=12 * MIB,
        )
    )
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    run.samples(12, rss_bytes=growing(120), phase="step", fit=1, step=lambda n: 10 * n + 10)
    run.ended(signal="SIGKILL", oom=1)


def near_miss(run: Run) -> None:
    """The same pipeline, and growth goes on in later epochs."""
    run.fit(
        data=pipeline(
            {"op": "cache", "where": "train.py:14", "cardinality": 20}, {"op": "batch", "batch_size": 4}
        )
    )
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(
        40, rss_bytes=growing(30), phase="step", fit=1, step=lambda n: 10 * n + 10, epoch=lambda n: n // 10
    )
    run.ended(signal="SIGKILL", oom=1)


def _cached(run: Run, *nodes: dict[str, object], mib_per_sample: int = 120, phase: str = "step") -> None:
    cache = {"op": "cache", "where": "train.py:14", "cardinality": 2000}
    run.fit(data=pipeline(cache, *nodes, {"op": "batch", "batch_size": 4}, element_bytes=12 * MIB))
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    step = 0 if phase == "fill" else lambda n: 10 * n + 10
    run.samples(12, rss_bytes=growing(mib_per_sample), phase=phase, fit=1, step=step)
    run.ended(signal="SIGKILL", oom=1)


def test_one_batch_a_step_in_the_first_epoch(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.led_to) == (Strength.ESTABLISHED, "killed-for-memory")
    assert first.title.values["full_bytes"] == 2000 * 3 * MIB
    assert facts(first)["pipeline.buffer"]["where"] == "train.py:14"
    each = facts(first)["memory.batch-a-step"]
    assert (each["bytes"], each["batch_bytes"]) == (pytest.approx(12 * MIB, rel=0.1), 12 * MIB)


def test_growth_of_another_size_speaks_against_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", limit=20 << 30)
    _cached(run, mib_per_sample=1200)
    found = next(one for one in run.verdict().findings if one.cause == "cache-too-large")
    assert found.strength == Strength.POSSIBLE
    assert [fact.kind for fact in found.against] == ["memory.not-a-batch-a-step"]


def test_a_shuffle_that_fills_at_the_same_time_comes_first(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _cached(run, {"op": "shuffle", "buffer_size": 2048}, phase="fill")
    assert run.slugs()[0] == "shuffle-buffer-too-large"
    found = next(one for one in run.verdict().findings if one.cause == "cache-too-large")
    assert found.strength == Strength.POSSIBLE


def test_growth_in_later_epochs_rules_it_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    near_miss(run)
    ruled_out = {one.cause: one.kind for one in run.verdict().ruled_out}
    assert ruled_out["cache-too-large"] == "cache-too-large.grows-in-later-epochs"


def test_a_cache_on_disk_takes_no_memory(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(data=pipeline({"op": "cache", "filename": "/tmp/train.cache", "cardinality": 2000}))
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    run.samples(12, rss_bytes=growing(120), phase="step", fit=1, step=lambda n: 10 * n + 10)
    run.ended(signal="SIGKILL", oom=1)
    assert "cache-too-large" not in run.slugs()
