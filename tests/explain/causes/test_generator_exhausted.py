"""A generator that ended after one pass: of the training, and of the validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    run.fit(steps=None, data=ev.DatasetSeen(type="generator", cardinality=-2, where="train.py:20"))
    run.epochs([12, 2, 2])
    run.ended(0)


def near_miss(run: Run) -> None:
    run.fit(steps=12, steps_per_epoch=12, data=ev.DatasetSeen(type="generator", cardinality=-2))
    run.epochs([12, 12, 12])
    run.ended(0)


def test_later_epochs_have_the_two_batches_that_keras_drew(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.title.kind, first.strength) == ("generator-exhausted", Strength.ESTABLISHED)
    assert first.title.values == {"epochs": 2}
    assert facts(first)["steps.by-epoch"]["steps"] == [12, 2, 2]
    assert facts(first)["generator.not-restartable"] == {"where": "train.py:20"}
    assert remedies(first) == ["generator.make-endless", "generator.make-a-class"]


@pytest.mark.parametrize(
    ("steps", "done", "first"),
    [
        ([8, 8, 8, 0], {"raised": "UnknownError", "epochs_done": 3}, "too-many-open-files"),
        ([8, 8, 8, 1], {"stopped": True, "epochs_done": 4}, "stopped-by-callback"),
        ([8, 2, 2, 2], {"epochs_done": 4}, "generator-exhausted"),
        ([8, 2, 2, 2], {"stopped": True, "epochs_done": 4}, "generator-exhausted"),
    ],
)
def test_an_epoch_that_was_broken_off_is_short_for_that_reason(
    tmp_path: Path, steps: list[int], done: dict[str, Any], first: str
) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=20, steps=None, data=ev.DatasetSeen(type="generator", where="train.py:20"))
    for number, count in enumerate(steps[: done["epochs_done"]]):
        run.probe(ev.EpochDone(fit=1, epoch=number, steps=count, logs={"loss": 1.0 / (number + 1)}))
    if first == "stopped-by-callback":
        run.probe(ev.StopRequested(by="Enough", where="train.py:18", epoch=3, step=25, logs={"loss": 0.1}))
    run.probe(ev.FitDone(fit=1, steps=sum(steps), epochs=len(steps), steps_by_epoch=steps, **done))
    if done.get("raised"):
        run.raised("OSError", "[Errno 24] Too many open files", errno=24)
    else:
        run.ended(0)
    assert run.slugs()[0] == first
    assert ("generator-exhausted" in run.slugs()) is (first == "generator-exhausted")


@pytest.mark.parametrize(
    ("batches", "kind", "ended"),
    [
        ([4, 2, 2, 2], "generator", True),
        ([4, 4, 4, 4], "generator", False),
        ([2, 2, 2, 2], "generator", False),
        ([4, 2, 2, 2], "tf.data", False),
    ],
)
def test_a_generator_of_the_validation(tmp_path: Path, batches: list[int], kind: str, ended: bool) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(role="validation", type=kind, where="train.py:22"))
    run.fit(epochs=4)
    for epoch, count in enumerate(batches):
        run.probe(ev.ValidationDone(fit=1, epoch=epoch, batches=count, logs={"loss": 0.5}))
    run.epochs([100] * 4)
    run.ended(0)
    assert run.slugs() == (["generator-exhausted"] if ended else [])
    if ended:
        first = run.first()
        assert (first.title.kind, first.ends) == ("generator-exhausted.validation", False)
        assert first.title.values == {"validations": 3}
        assert facts(first)["validation.batches"] == {"batches": batches}


def _later_passes(run: Run, *passes: int, step: int = 40, done: int = 40, trained: int = 1) -> None:
    run.probe(ev.LoopSeen(by="tf_function", where="train.py:55"))
    nodes = [{"op": "generator", "where": "train.py:38"}, {"op": "batch", "batch_size": 50}]
    run.probe(ev.DatasetSeen(type="tf.data", cardinality=-2, nodes=nodes, where="train.py:68"))
    for count in passes:
        run.probe(ev.LaterPassEmpty(passes=count, step=step, trained=trained, where="train.py:68"))
    run.samples(2, phase="step", step=done, rss_bytes=1 << 28)
    run.ended(0)


def test_a_loop_over_a_dataset_whose_generator_is_used_up(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _later_passes(run, 1, 2, 4, 8)
    first = run.first()
    assert (first.cause, first.strength) == ("generator-exhausted", Strength.SUPPORTED)
    assert first.title.values == {"steps": 40, "passes": 8, "where": "train.py:68"}
    assert facts(first)["generator.behind-dataset"] == {"where": "train.py:38"}


@pytest.mark.parametrize(
    ("passes", "more"),
    [
        ([1], {}),  # a look whether there is any more
        ([1, 2], {"done": 80}),  # it went on
        ([1, 2, 4], {"trained": 5}),  # a stream that ends
        ([1, 2, 4], {"trained": 0}),  # something else than what is trained on
    ],
)
def test_empty_passes_that_end_no_training(tmp_path: Path, passes: list[int], more: dict[str, Any]) -> None:
    run = Run(tmp_path / "run")
    _later_passes(run, *passes, **more)
    assert run.blamed() == []


@pytest.mark.parametrize(("code", "blamed"), [(0, ["generator-exhausted"]), (1, [])])
def test_an_iterator_in_rounds(tmp_path: Path, code: int, blamed: list[str]) -> None:
    """Of a run that was broken off it is not known how far its first round had come."""
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:30"))
    run.probe(
        ev.DataRanOut(where="train.py:28", iterator="pairs", step=30, planned=10, bound="10", one_shot=True)
    )
    run.samples(2, phase="step", step=30, rss_bytes=1 << 28)
    run.ended(code)
    assert [one for one in run.blamed() if one == "generator-exhausted"] == blamed
