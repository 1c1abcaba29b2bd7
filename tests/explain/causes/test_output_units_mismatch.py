"""One unit for many classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.learning_runs import FLAT, IDS, NUMBERS, dense, trained, values
from tests.explain.made import Run, facts, remedies, title_of

_TEN = {**IDS, "max": 9.0, "mean": 4.5, "std": 2.9, "distinct": 10, "class_count": 10,
        "classes": {str(name): 100 for name in range(10)}}  # fmt: skip


def example(run: Run) -> None:
    trained(
        run, dense("sigmoid", metrics=["binary_accuracy"]), _TEN, [-3.0, -20.0, -60.0], accuracy=[0.1] * 3
    )


def near_miss(run: Run) -> None:
    trained(run, dense("sigmoid", metrics=["binary_accuracy"]), IDS, FLAT, accuracy=[0.5] * 6)


def test_the_classes_are_counted(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.title.values["classes"]) == (Strength.ESTABLISHED, 10)
    assert title_of(first) == 'Dense(1, activation="sigmoid") has one unit for 10 classes (train.py:12)'
    assert facts(first)["targets.seen"]["distinct"] == 10
    assert (remedies(first), first.remedies[0].values["units"]) == (["output.one-unit-each"], 10)


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (dense("sigmoid", loss="mean_squared_error", metrics=["accuracy"]), True),
        (dense("sigmoid", loss="mean_squared_error"), False),
        (dense("linear", loss="mean_squared_error", metrics=["mean_absolute_error"]), False),
        (dense("softmax", 10, "sparse_categorical_crossentropy"), False),
    ],
)
def test_a_regression_on_whole_numbers_is_no_classification(
    tmp_path: Path, output: ev.OutputSeen, found: bool
) -> None:
    run = Run(tmp_path / "run")
    trained(run, output, _TEN, [9.0, 8.9, 8.9])
    assert ("output-units-mismatch" in run.slugs()) is found


def test_several_numbers_for_targets_of_one(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(values("target", **NUMBERS), dense("softmax", 2, "mean_absolute_error"))
    run.fit(epochs=3)
    run.raised("InvalidArgumentError", "Incompatible shapes: [200,2] vs. [200]")
    first = run.first()
    assert (first.title.kind, first.ends) == ("output-units-mismatch.too-wide", True)
    assert remedies(first) == ["output.linear-for-numbers"] and "error.raised" in facts(first)
