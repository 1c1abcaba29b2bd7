"""A loss that is made for other labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.learning_runs import IDS, NUMBERS, ONE_HOT, dense, trained, values
from tests.explain.made import Run, facts, remedies, title_of

_TEN = {**IDS, "max": 9.0, "mean": 4.5, "std": 2.9, "distinct": 10, "class_count": 10,
        "classes": {str(name): 100 for name in range(10)}}  # fmt: skip


def example(run: Run) -> None:
    trained(
        run,
        dense("softmax", 10, "mean_squared_error", target_shape=[None, 1]),
        {**_TEN, "shape": [1]},
        [28.0, 27.9, 27.9],
    )


def near_miss(run: Run) -> None:
    trained(run, dense("linear", 1, "mean_squared_error"), _TEN, [28.0, 27.9, 27.9])


@pytest.mark.parametrize(
    ("output", "target", "losses", "kind"),
    [
        (dense("sigmoid", 64), {**NUMBERS, "shape": [64]}, [0.7, -3.0, -9.0], "loss-task-mismatch.outside"),
        (dense("sigmoid", 64), {**NUMBERS, "shape": [64], "min": 0.0, "max": 1.0}, [0.7] * 6, ""),
        (
            dense("softmax", 5, "sparse_categorical_crossentropy"),
            NUMBERS,
            [1.6] * 6,
            "loss-task-mismatch.numbers",
        ),
        (dense("softmax", 5, "sparse_categorical_crossentropy"), IDS, [1.6] * 6, ""),
        (dense("sigmoid", 64, own_loss=True), {**NUMBERS, "shape": [64]}, [0.7, -3.0, -9.0], ""),
    ],
)
def test_the_loss_and_the_labels(
    tmp_path: Path, output: ev.OutputSeen, target: dict[str, Any], losses: list[float], kind: str
) -> None:
    run = Run(tmp_path / "run")
    trained(run, output, target, losses)
    found = [
        (one.title.kind, one.strength) for one in run.verdict().findings if one.cause == "loss-task-mismatch"
    ]
    strength = (
        Strength.ESTABLISHED if losses[-1] < 0 else Strength.SUPPORTED
    )  # no valid label makes it negative
    assert found == ([(kind, strength)] if kind else [])


def test_class_ids_against_probabilities(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.strength is Strength.ESTABLISHED
    assert "compares class ids up to 9 with 10 probabilities" in title_of(first)
    assert remedies(first) == ["loss.use"] and facts(first)["targets.seen"]["high"] == 9.0


def test_rows_with_one_1_as_measurements_are_blamed_only_where_nothing_was_learned(tmp_path: Path) -> None:
    output = dense("linear", 3, "mean_absolute_error", target_shape=[None, 3])
    for name, losses in (("flat", [0.503, 0.5, 0.499]), ("learned", [0.5, 0.2, 0.1])):
        run = Run(tmp_path / name)
        trained(run, output, ONE_HOT, losses)
        assert ("loss-task-mismatch" in run.slugs()) is (name == "flat")


@pytest.mark.parametrize(
    ("loss", "target", "kind"),
    [
        ("categorical_crossentropy", IDS, "loss-task-mismatch.ids-for-rows"),
        ("sparse_categorical_crossentropy", ONE_HOT, "loss-task-mismatch.rows-for-ids"),
        ("sparse_categorical_crossentropy", IDS, "script-error"),
    ],
)
def test_shapes_that_the_loss_refuses(tmp_path: Path, loss: str, target: dict[str, Any], kind: str) -> None:
    run = Run(tmp_path / "run")
    run.probe(values("target", **target), dense("softmax", 3, loss))
    run.fit(epochs=3)
    run.raised("ValueError", "Arguments `target` and `output` must have the same rank (ndim).")
    assert (run.first().title.kind, run.first().strength) == (kind, Strength.ESTABLISHED)


@pytest.mark.parametrize(("units", "blamed"), [(10, True), (1, False), (4, False)])
def test_one_id_as_the_target_of_a_unit_for_each_class(tmp_path: Path, units: int, blamed: bool) -> None:
    """The units all learn the number of the class: the loss falls as it should."""
    run = Run(tmp_path / "run")
    trained(run, dense("linear", units, "mean_squared_error"), _TEN, [28.0, 9.0, 4.0])
    assert ("loss-task-mismatch" in run.slugs()) is blamed
