"""Queues of batches: too deep, deep and small, full long ago."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, growing, pipeline, remedies


def example(run: Run) -> None:
    run.fit(
        data=pipeline(
            {"op": "map"},
            {"op": "batch", "batch_size": 8},
            {"op": "prefetch", "buffer_size": 500, "where": "train.py:16"},
            element_bytes=24 * MIB,
        )
    )
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(8, rss_bytes=growing(200), phase="step", fit=1, step=lambda n: n + 1)
    run.ended(signal="SIGKILL", oom=1)


def near_miss(run: Run) -> None:
    """A shallow prefetch, and a leak."""
    run.fit(
        data=pipeline(
            {"op": "batch", "batch_size": 8}, {"op": "prefetch", "buffer_size": 2}, element_bytes=24 * MIB
        )
    )
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(
        40, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10, epoch=lambda n: n // 10
    )
    run.ended(signal="SIGKILL", oom=1)


def _queue(run: Run, *, batches: int, mib: int, steps: int = 8) -> None:
    node = {"op": "prefetch", "buffer_size": batches, "where": "train.py:16"}
    run.fit(data=pipeline({"op": "batch", "batch_size": 8}, node, element_bytes=mib * MIB))
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(8, rss_bytes=growing(200), phase="step", fit=1, step=lambda n: (n + 1) * steps // 8)
    run.ended(signal="SIGKILL", oom=1)


def test_the_depth_times_a_batch_is_compared_with_the_limit(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.led_to) == (Strength.ESTABLISHED, "killed-for-memory")
    assert first.title.values == {"batches": 500, "full_bytes": 500 * 24 * MIB}
    assert facts(first)["pipeline.buffer"]["where"] == "train.py:16"
    assert remedies(first) == ["prefetch.two-batches"]


def test_half_of_the_limit_establishes_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _queue(run, batches=20, mib=24)
    assert (run.first().cause, run.first().strength) == ("prefetch-too-deep", Strength.SUPPORTED)


def test_a_small_queue_is_ruled_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _queue(run, batches=20, mib=1)
    ruled_out = {one.cause: one for one in run.verdict().ruled_out}
    assert ruled_out["prefetch-too-deep"].kind == "prefetch-too-deep.small"
    assert ruled_out["prefetch-too-deep"].values == {"full_bytes": 20 * MIB}


def test_a_queue_that_was_full_long_ago_is_only_possible(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _queue(run, batches=20, mib=60, steps=800)
    found = next(one for one in run.verdict().findings if one.cause == "prefetch-too-deep")
    assert found.strength == Strength.POSSIBLE
    assert found.against[0].kind == "queue.full-long-ago"
    assert found.against[0].values == {"steps": 800, "batches": 20}


def test_the_queue_of_kerass_loader(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    data = ev.DatasetSeen(type="py_dataset", max_queue_size=100, element_bytes=24 * MIB, cardinality=100)
    run.fit(data=data)
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(8, rss_bytes=growing(200), phase="step", fit=1, step=lambda n: n + 1)
    run.ended(signal="SIGKILL", oom=1)
    assert run.first().title.values == {"batches": 100, "full_bytes": 2400 * MIB}
    assert facts(run.first())["pipeline.buffer"]["where"] == "max_queue_size"


def _own_queue(run: Run, *, limit: int | None, taken: int) -> None:
    """A thread of the script's own that puts batches of 7 MiB into a queue."""
    run.fit()
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(40, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10)
    for length in (10, 180):
        about = {"name": "feed(Augment).ahead", "type": "deque", "where": "train.py:8", "limit": limit}
        item = {**about, "length": length, "bytes": length * 7 * MIB, "queue": True, "taken": taken}
        run.probe(ev.HoldingsSeen(step=400, items=[item]))
    run.ended(signal="SIGKILL", oom=1)


def test_a_queue_of_the_scripts_own_that_may_hold_more_than_fits(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _own_queue(run, limit=360, taken=0)
    first = run.first()
    assert (first.cause, first.strength, first.led_to) == (
        "prefetch-too-deep",
        Strength.ESTABLISHED,
        "killed-for-memory",
    )
    assert first.title.values == {"name": "feed(Augment).ahead", "limit": 360, "full_bytes": 360 * 7 * MIB}
    assert remedies(first) == ["queue.smaller"]
    assert facts(first)["object.grew"]["length"] == 180


def test_a_queue_without_a_limit_that_is_emptied_too_slowly(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _own_queue(run, limit=None, taken=50)
    assert (run.first().cause, run.first().title.values["limit"]) == ("prefetch-too-deep", None)


def test_a_queue_that_nothing_is_taken_out_of_is_a_leak(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _own_queue(run, limit=None, taken=0)
    assert run.first().cause == "memory-leak"
