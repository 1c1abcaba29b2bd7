"""Epochs and loops without an end: a dataset that repeats, a generator, a loop, a condition."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, remedies


def example(run: Run) -> None:
    run.fit(steps=None, data=ev.DatasetSeen(type="tf.data", cardinality=-1))
    run.samples(
        30,
        rss_bytes=600 * MIB,
        phase="step",
        fit=1,
        step=lambda n: 50 * n + 1,
        train_batches=lambda n: 50 * n + 1,
    )
    run.ended(signal="SIGINT")


def near_miss(run: Run) -> None:
    run.fit(steps=500, data=ev.DatasetSeen(type="tf.data", cardinality=-1))
    run.samples(30, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: 10 * n + 1)
    run.ended(signal="SIGINT")


def test_an_infinite_dataset_without_steps_per_epoch(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.title.kind, first.strength) == ("epoch-never-ends", Strength.ESTABLISHED)
    assert facts(first)["epoch.unfinished"] == {"steps": 1451}
    assert facts(first)["fit.no-steps-per-epoch"] == {"where": "train.py:30"}
    assert "dataset.infinite" in facts(first)
    assert remedies(first) == ["fit.give-steps-per-epoch", "dataset.without-repeat"]


@pytest.mark.parametrize(("steps", "found"), [(900, True), (400, False)])
def test_an_unknown_length_is_only_possible_after_many_steps(tmp_path: Path, steps: int, found: bool) -> None:
    run = Run(tmp_path / "run")
    run.fit(steps=None, data=ev.DatasetSeen(type="generator", cardinality=-2))
    run.samples(5, rss_bytes=600 * MIB, phase="step", fit=1, step=steps)
    run.ended(signal="SIGINT")
    strengths = [one.strength for one in run.verdict().findings if one.cause == "epoch-never-ends"]
    assert strengths == ([Strength.POSSIBLE] if found else [])


def test_a_generator_without_an_end_is_named_by_its_line(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    node = {"op": "generator", "where": "train.py:12", "function": "batches", "endless": True}
    data = ev.DatasetSeen(type="generator", cardinality=-1, nodes=[node], where="train.py:30")
    run.fit(epochs=5, steps=None, data=data)
    run.probe(*(ev.LossSeen(step=step, logs={"loss": 1.0}) for step in (1, 900)))
    run.ended(None, "SIGTERM")
    first = run.first()
    assert (first.cause, first.strength) == ("epoch-never-ends", Strength.ESTABLISHED)
    assert first.title.values == {"generator": "train.py:12"}
    assert facts(first)["generator.endless"] == {"where": "train.py:12"}
    assert remedies(first)[1] == "generator.return-after-one-pass"


@pytest.mark.parametrize(("cardinality", "endless"), [(-1, True), (20, False)])
def test_a_loop_of_ones_own_over_an_infinite_dataset(tmp_path: Path, cardinality: int, endless: bool) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(type="tf.data", cardinality=cardinality, where="train.py:14"))
    run.probe(ev.DataOnlyLoopSeen(where="train.py:14"), ev.LoopSeen(by="tf_function"))
    run.samples(30, rss_bytes=600 * MIB, phase="step", step=lambda n: 400 * n)
    run.supervisor(ev.SignalReceived(signal="SIGTERM"))
    run.ended(signal="SIGTERM")
    assert set(run.slugs()) == ({"epoch-never-ends", "preempted"} if endless else {"preempted"})
    if endless:
        found = next(one for one in run.verdict().findings if one.cause == "epoch-never-ends")
        assert (found.title.kind, found.strength) == ("epoch-never-ends.loop", Strength.SUPPORTED)
        assert facts(found)["loop.without-break"] == {"where": "train.py:14", "steps": 11600}


def test_a_loop_that_was_left_for_another_pass_is_not_endless(tmp_path: Path) -> None:
    """`for batch in limited(ds)`: more than its source shows ended it."""
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(type="tf.data", cardinality=-1, where="train.py:14"))
    run.probe(ev.DataOnlyLoopSeen(where="train.py:14"), ev.LoopSeen(by="tf_function"))
    run.samples(30, rss_bytes=600 * MIB, phase="validation", step=20, test_batches=lambda n: 9 * n + 1)
    assert run.slugs() == ["unknown"]


def _open_loop(path: Path) -> Run:
    run = Run(path / "run")
    run.probe(ev.LoopSeen(by="train_on_batch", where="train.py:6"))
    run.probe(ev.OpenLoopSeen(where="train.py:5", until=["while `loss > 0.0001`"]))
    run.supervisor(
        ev.EndlessSeen(what="loop", batches=1981, for_s=61.0, why="the loss is 0.25 since step 301")
    )
    return run


def test_a_loop_that_makes_no_progress_is_reported_while_it_runs(tmp_path: Path) -> None:
    first = _open_loop(tmp_path).first()
    assert (first.title.kind, first.strength) == ("epoch-never-ends.condition", Strength.SUPPORTED)
    assert first.title.values == {"where": "train.py:5", "until": ["while `loss > 0.0001`"]}
    assert facts(first)["loop.no-progress"]["steps"] == 1981


def test_a_loop_that_ended_after_all_is_not_blamed(tmp_path: Path) -> None:
    run = _open_loop(tmp_path)
    run.ended(0)
    assert not run.slugs()
