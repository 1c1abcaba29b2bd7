"""A shuffle buffer that fills memory before the first step."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, growing, pipeline, remedies


def _fill(run: Run, **data: object) -> None:
    run.fit(
        data=pipeline(
            {"op": "map"},
            {"op": "shuffle", "buffer_size": 2048, "where": "train.py:12"},
            {"op": "batch", "batch_size": 4},
            element_bytes=12 * MIB,
            **data,
        )
    )


def example(run: Run) -> None:
    _fill(run)
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    run.samples(9, rss_bytes=growing(170), phase="fill", fit=1)
    run.ended(signal="SIGKILL", oom=1)


def near_miss(run: Run) -> None:
    """The buffer was filled long ago; memory rose at the steps."""
    _fill(run, cardinality=100_000)
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    run.samples(4, rss_bytes=610 * MIB, phase="fill", fit=1)
    run.samples(20, rss_bytes=growing(70, 620), phase="step", fit=1, step=lambda n: 10 * n + 10)
    run.ended(signal="SIGKILL", oom=1)


def test_the_buffer_is_compared_with_the_limit(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.led_to) == (Strength.ESTABLISHED, "killed-for-memory")
    assert first.title.values == {"elements": 2048, "full_bytes": 2048 * 3 * MIB}
    assert facts(first)["pipeline.buffer"] == {
        "op": "shuffle", "where": "train.py:12", "elements": 2048, "element_bytes": 3 * MIB,
        "full_bytes": 2048 * 3 * MIB,
    }  # fmt: skip
    assert "steps.none" in facts(first)
    assert remedies(first) == ["shuffle.before-decoding", "shuffle.smaller-buffer"]


def test_a_buffer_of_less_than_the_growth_is_only_possible(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    node = {"op": "shuffle", "buffer_size": 100, "element_bytes": MIB}
    run.fit(data=pipeline(node, {"op": "batch", "batch_size": 4}))
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    run.samples(9, rss_bytes=growing(170), phase="fill", fit=1)
    run.ended(signal="SIGKILL", oom=1)
    found = next(one for one in run.verdict().findings if one.cause == "shuffle-buffer-too-large")
    assert found.strength == Strength.POSSIBLE
    assert found.against[0].values["full_bytes"] == 100 * MIB


def test_growth_at_the_steps_rules_it_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    near_miss(run)
    ruled_out = {one.cause: one.kind for one in run.verdict().ruled_out}
    assert ruled_out["shuffle-buffer-too-large"] == "shuffle-buffer-too-large.not-while-filling"


def test_tensorflows_log_stands_in_for_the_pipeline(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.FitStarted(epochs=3))
    line = "Filling up shuffle buffer (this may take a while): 812 of 9000"
    run.output(line + "\n")
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    run.samples(9, rss_bytes=growing(170), phase="fill", fit=1)
    run.ended(signal="SIGKILL", oom=1)
    first = run.first()
    assert (first.cause, first.strength) == ("shuffle-buffer-too-large", Strength.SUPPORTED)
    assert facts(first)["output.quoted"] == {"text": line}
