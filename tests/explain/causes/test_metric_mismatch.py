"""Metrics that say nothing about the task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.learning_runs import IDS, NUMBERS, ONE_HOT, dense, trained, values
from tests.explain.made import Run, facts, remedies, title_of

_MSE = "mean_squared_error"


def example(run: Run) -> None:
    output = dense("linear", 1, _MSE, metrics=["accuracy"])
    trained(run, output, NUMBERS, [1.0, 0.6, 0.3], accuracy=[0.0] * 3)


def near_miss(run: Run) -> None:
    output = dense("linear", 1, _MSE, metrics=["mean_absolute_error"])
    trained(run, output, NUMBERS, [1.0, 0.6, 0.3])


@pytest.mark.parametrize(
    ("output", "target", "losses", "kind", "strength"),
    [
        (dense("linear", 1, _MSE, metrics=["accuracy"]), NUMBERS, [1.0] * 6, "numbers", Strength.SUPPORTED),
        (dense("sigmoid", 3, metrics=["binary_accuracy"]), ONE_HOT, [0.7, 0.3, 0.1], "binary", Strength.POSSIBLE),
        (dense("sigmoid", 1, metrics=["binary_accuracy"]), IDS, [0.7, 0.3, 0.1], "", None),
        (dense("linear", 64, _MSE, metrics=["accuracy"]), {**NUMBERS, "shape": [64]}, [1.0] * 6, "", None),
    ],
)  # fmt: skip
def test_a_metric_alone_is_blamed_only_where_nothing_was_learned(
    tmp_path: Path,
    output: ev.OutputSeen,
    target: dict[str, Any],
    losses: list[float],
    kind: str,
    strength: Strength,
) -> None:
    run = Run(tmp_path / "run")
    trained(run, output, target, losses)
    found = [
        (one.title.kind, one.strength) for one in run.verdict().findings if one.cause == "metric-mismatch"
    ]
    assert found == ([(f"metric-mismatch.{kind}", strength)] if kind else [])


def test_what_to_measure(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert remedies(run.first()) == ["metric.for-numbers"]
    assert title_of(run.first()).startswith("accuracy says nothing about a regression")
    assert facts(run.first())["targets.seen"]["distinct"] is None


@pytest.mark.parametrize(
    ("loss", "accuracy", "contradicted"),
    [(0.0005, 0.14, True), (0.2, 0.5, True), (0.2, 0.68, False), (0.65, 0.5, False), (0.0005, 0.99, False)],
)
def test_an_accuracy_that_its_own_cross_entropy_contradicts(
    tmp_path: Path, loss: float, accuracy: float, contradicted: bool
) -> None:
    """A wrong answer costs at least ln 2: a loss of 0.2 allows 29 % of them."""
    run = Run(tmp_path / "run")
    output = dense("softmax", 2, "sparse_categorical_crossentropy", metrics=["categorical_accuracy"])
    trained(run, output, IDS, [1.0, 0.8, loss], accuracy=[accuracy] * 3)
    found = [one for one in run.verdict().findings if one.cause == "metric-mismatch"]
    assert [one.strength for one in found] == ([Strength.SUPPORTED] if contradicted else [])
    if contradicted:
        assert len(run.verdict().findings) == 1  # the accuracy is no sign that nothing was learned
        assert facts(found[0])["accuracy.contradicts-loss"]["least"] == {0.0005: 0.99, 0.2: 0.71}[loss]


def test_weights_of_classes_make_the_loss_smaller(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    output = dense("softmax", 2, "sparse_categorical_crossentropy", metrics=["categorical_accuracy"])
    trained(run, output, IDS, [1.0, 0.2], accuracy=[0.5] * 2, more=(values("weight"),))
    assert "metric-mismatch" not in run.slugs()


@pytest.mark.parametrize(("classes", "loss"), [(5, -1.4), (5, 0.01)])
def test_the_cross_entropy_of_labels_beyond_the_classes_says_nothing(
    tmp_path: Path, classes: int, loss: float
) -> None:
    run = Run(tmp_path / "run")
    output = dense("sigmoid", 1, metrics=["binary_accuracy"])
    ids = {**IDS, "max": classes - 1.0, "distinct": classes, "class_count": classes}
    trained(run, output, ids, [1.0, 0.2, loss], accuracy=[0.34] * 3)
    assert "metric-mismatch" not in run.slugs()
