"""Data that ran out before the planned steps, and an iterator that is asked after its end."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, remedies


def example(run: Run) -> None:
    run.fit(
        epochs=4,
        steps=8,
        steps_per_epoch=8,
        data=ev.DatasetSeen(type="tf.data", cardinality=10, where="train.py:20"),
    )
    run.probe(
        ev.WarningSeen(category="UserWarning", text="Your input ran out of data; interrupting training.")
    )
    run.epochs([8, 2, 8, 2])
    run.ended(0)


def near_miss(run: Run) -> None:
    """A healthy dataset of unknown size: the same warning."""
    run.fit(steps=None, data=ev.DatasetSeen(type="tf.data", cardinality=-2, where="train.py:20"))
    run.probe(
        ev.WarningSeen(category="UserWarning", text="Your input ran out of data; interrupting training.")
    )
    run.epochs([25, 25, 25])
    run.ended(0)


def test_short_epochs_against_the_plan(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.ends) == (Strength.ESTABLISHED, True)
    assert first.title.values == {"steps": 20, "planned": 32}
    assert facts(first)["steps.by-epoch"] == {"steps": [8, 2, 8, 2], "planned": 8}
    assert facts(first)["dataset.length"] == {"batches": 10}
    assert facts(first)["fit.steps-per-epoch"] == {"steps": 8, "where": "train.py:30"}
    assert remedies(first) == ["dataset.repeat", "fit.without-steps-per-epoch"]


def test_without_a_warning_and_a_length_it_is_supported(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=2, steps=8, steps_per_epoch=8, data=ev.DatasetSeen(type="tf.data", cardinality=-2))
    run.epochs([8, 2])
    run.ended(0)
    assert (run.first().cause, run.first().strength) == ("dataset-exhausted", Strength.SUPPORTED)


def test_all_planned_steps_rule_it_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.epochs([100] * 3)
    run.ended(0)
    ruled_out = {one.cause: one for one in run.verdict().ruled_out}
    assert ruled_out["dataset-exhausted"].kind == "dataset-exhausted.all-done"
    assert ruled_out["dataset-exhausted"].values == {"planned": 300}


def test_an_iterator_that_is_asked_after_its_end_is_exhausted(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="train_on_batch", where="train.py:12"), ev.LossSeen(step=50, logs={"loss": 1.0}))
    run.probe(ev.ExhaustedIteratorUsed(times=4, where="train.py:9"))
    run.samples(3, rss_bytes=600 * MIB, phase="step", step=50)
    run.ended(0)
    first = run.first()
    assert (first.title.kind, first.strength) == ("dataset-exhausted.iterator", Strength.SUPPORTED)
    asked = {"where": "train.py:9", "times": 4, "steps": 50}
    assert facts(first)["iterator.asked-after-its-end"] == asked


def test_counts_of_a_part_of_the_probe_that_failed_blame_nobody(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert "dataset-exhausted" in run.blamed()
    run = Run(tmp_path / "other")
    run.probe(ev.ProbeFailed(part="callback_list", error="ValueError: no handle"))
    example(run)
    assert "dataset-exhausted" not in run.blamed()


def test_the_length_is_that_of_the_dataset_of_the_fit_that_was_short(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    short = ev.DatasetSeen(type="tf.data", cardinality=24, where="train.py:20")
    run.fit(epochs=1, steps=100, steps_per_epoch=100, data=short)
    run.epochs([24])
    run.fit(epochs=1, steps=47, fit=2)
    run.epochs([47], fit=2)
    run.ended(0)
    assert facts(run.first())["dataset.length"] == {"batches": 24}


def test_an_iterator_that_ended_before_its_loop(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:12"))
    run.probe(ev.DataRanOut(where="train.py:9", step=20, planned=2000, bound="STEPS"))
    run.samples(3, rss_bytes=600 * MIB, phase="step", step=20)
    run.ended(0)
    first = run.first()
    assert (first.title.kind, first.strength) == ("dataset-exhausted.loop", Strength.SUPPORTED)
    ended = facts(first)["iterator.ended-in-loop"]
    assert (ended["steps"], ended["planned"], ended["bound"]) == (20, 2000, "STEPS")
    assert remedies(first) == ["iterator.make-one-an-epoch", "iterator.repeat"]


def test_a_generator_that_a_loop_goes_through_again(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(
        ev.DataRanOut(where="train.py:9", step=20, planned=15, bound="epochs", iterator="data", one_shot=True)
    )
    run.samples(3, rss_bytes=600 * MIB, phase="step", step=20)
    run.ended(0)
    assert run.first().title.kind == "generator-exhausted.rounds"
    assert remedies(run.first()) == ["iterator.make-one-an-epoch", "generator.make-a-class"]


def test_steps_after_the_end_of_an_iterator_excuse_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DataRanOut(where="train.py:9", step=20, planned=2000, bound="STEPS"))
    run.samples(3, rss_bytes=600 * MIB, phase="step", step=40)
    run.ended(0)
    assert run.blamed() == []
