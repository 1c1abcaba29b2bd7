"""Labels that are all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.learning_runs import IDS, dense, trained
from tests.explain.made import Run, facts, remedies, title_of

_ZEROS = {**IDS, "max": 0.0, "mean": 0.0, "std": 0.0, "distinct": 1, "class_count": 1, "classes": {"0": 1000},
          "rows_differ": False}  # fmt: skip


def example(run: Run) -> None:
    trained(run, dense("sigmoid"), _ZEROS, [0.5, 0.1, 0.0], accuracy=[1.0] * 3)


def near_miss(run: Run) -> None:
    trained(run, dense("sigmoid"), IDS, [0.5, 0.1, 0.0], accuracy=[1.0] * 3)


@pytest.mark.parametrize(
    ("output", "more", "strength"),
    [
        (dense("sigmoid"), (), Strength.SUPPORTED),
        (dense("linear", 1, "mean_squared_error"), (), Strength.POSSIBLE),  # the residual of an equation
        (dense("sigmoid", own_loss=True), (), None),
        (dense("sigmoid"), (dense("sigmoid", model="discriminator"),), Strength.POSSIBLE),
    ],
)
def test_where_it_may_be_meant(
    tmp_path: Path, output: ev.OutputSeen, more: tuple[ev.Event, ...], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    trained(run, output, _ZEROS, [0.5, 0.1, 0.0], more=more)
    found = [one.strength for one in run.verdict().findings if one.cause == "labels-constant"]
    assert found == ([strength] if strength is not None else [])


def test_a_first_batch_of_sorted_data_decides_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense("sigmoid"), {**_ZEROS, "step": 1, "rows": 32}, [0.5, 0.1, 0.0])
    assert "labels-constant" not in run.slugs()


def test_what_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert title_of(run.first()) == "all labels are class 0 in 1,000 rows (train.py:20)"
    assert facts(run.first())["labels.all-equal"]["class_id"] == "0"
    assert remedies(run.first()) == ["labels.look-at-them"]
