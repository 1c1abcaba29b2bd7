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
