"""A cache of decoded elements, by the shape and the size of the growth."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, code_of, facts, growing, pipeline, remedies, title_of


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


def test_a_buffer_of_the_scripts_own_that_may_hold_more_than_fits(tmp_path: Path) -> None:
    """A deque(maxlen=…) drops its oldest entry when it is full: it is no leak."""
    run = Run(tmp_path / "run")
    run.fit()
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(40, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10)
    for length in (100, 1200):
        item = {"name": "replay", "type": "deque", "where": "dqn.py:8", "limit": 50_000, "length": length}
        run.probe(ev.HoldingsSeen(step=400, items=[{**item, "bytes": length * MIB}]))
    run.ended(signal="SIGKILL", oom=1)
    first = run.first()
    assert (first.cause, first.strength) == ("cache-too-large", Strength.ESTABLISHED)
    assert first.title.values == {"name": "replay", "limit": 50_000, "full_bytes": 50_000 * MIB}
    ruled_out = {one.cause: one for one in run.verdict().ruled_out}
    assert ruled_out["memory-leak"].values == {"name": "replay", "limit": 50_000}


def _endless(run: Run, *nodes: dict[str, object], mib_per_sample: int = 30, batch_mib: int = 3) -> None:
    """Forty samples, ten steps apart, in six epochs."""
    run.fit(data=pipeline(*nodes, {"op": "batch", "batch_size": 64}, element_bytes=batch_mib * MIB))
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    run.samples(
        40,
        rss_bytes=growing(mib_per_sample),
        phase="step",
        fit=1,
        step=lambda n: 10 * n + 10,
        epoch=lambda n: n // 7,
    )
    run.ended(signal="SIGKILL", oom=1)


_ROWS = {"op": "tensor_slice", "bytes": 2600 << 10, "elements": 2600}
_SHUFFLE = {"op": "shuffle", "buffer_size": 2600}
_REPEAT = {"op": "repeat", "count": -1}
_MAP = {"op": "map", "function": "decode", "where": "train.py:12"}
_CACHE = {"op": "cache"}


def test_a_cache_behind_an_endless_repeat_is_never_full(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _endless(run, _ROWS, _SHUFFLE, _REPEAT, _MAP, _CACHE, {"op": "map"})
    first = run.first()
    assert (first.cause, first.strength, first.led_to) == (
        "cache-too-large",
        Strength.ESTABLISHED,
        "killed-for-memory",
    )
    assert title_of(first) == (
        "cache() comes after an endless repeat(): it is never full, and keeps every repeated element"
    )
    assert facts(first)["memory.batch-a-step"]["batch_bytes"] == pytest.approx(3 * MIB, abs=64)
    assert remedies(first) == ["cache.before-repeat"]
    assert code_of(first.remedies[0]) == "ds = ds.map(decode).cache().shuffle(2600).repeat()"
    assert "memory-leak" not in run.slugs()


@pytest.mark.parametrize(
    ("nodes", "kind"),
    [
        ((_ROWS, _REPEAT, {"op": "filter"}, _CACHE), "cache-too-large.endless"),
        (({"op": "range"}, _REPEAT, _MAP, _CACHE), "cache-too-large.endless"),  # of an unknown number
        (({"op": "generator", "endless": True}, _CACHE), "cache-too-large.endless"),
        (({"op": "tensor_slice", "elements": 100_000}, _CACHE), "cache-too-large"),
        ((_ROWS, _CACHE, _REPEAT), None),
        ((_ROWS, _REPEAT, {"op": "take", "count": 2600}, _CACHE), None),
        ((_ROWS, {"op": "repeat", "count": 2}, _CACHE, _REPEAT), None),
        ((_ROWS, _REPEAT, {**_CACHE, "filename": "/tmp/c"}), None),
        (({"op": "generator"}, _CACHE), None),
    ],
)
def test_what_comes_before_the_cache_says_whether_it_is_full(
    tmp_path: Path, nodes: tuple[dict[str, object], ...], kind: str | None
) -> None:
    """After 400 steps of 64 elements, in six epochs."""
    run = Run(tmp_path / "run")
    _endless(run, *nodes)
    found = [one.title.kind for one in run.verdict().findings if one.cause == "cache-too-large"]
    assert found == ([kind] if kind else [])
    assert run.slugs()[0] == ("cache-too-large" if kind else "memory-leak")


def test_a_leak_of_another_size_beside_an_endless_cache(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", limit=20 << 30)
    _endless(run, _ROWS, _REPEAT, _CACHE, mib_per_sample=450)
    assert run.slugs()[0] == "memory-leak"
    found = next(one for one in run.verdict().findings if one.cause == "cache-too-large")
    assert (found.strength, [fact.kind for fact in found.against]) == (
        Strength.POSSIBLE,
        ["memory.not-a-batch-a-step"],
    )


def test_a_list_that_keeps_batches_beside_an_endless_cache(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    item = {"name": "seen", "type": "list", "where": "train.py:8"}
    for length in (100, 1200):
        run.probe(
            ev.HoldingsSeen(step=length // 3, items=[{**item, "length": length, "bytes": length * MIB}])
        )
    _endless(run, _ROWS, _REPEAT, _CACHE)
    assert (run.first().cause, run.first().strength) == ("memory-leak", Strength.ESTABLISHED)
