"""Inputs that are all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from tests.explain.learning_runs import FLAT, IDS, INPUTS, dense, trained, values
from tests.explain.made import Run, facts, remedies, title_of

_SAME = {"rows_differ": False, "constant_columns": 8, "min": 0.0, "max": 0.0, "std": 0.0, "distinct": 1,
         "column_scales": []}  # fmt: skip


def example(run: Run) -> None:
    trained(run, dense("sigmoid"), IDS, FLAT, accuracy=[0.5] * 6, inputs=_SAME)


def near_miss(run: Run) -> None:
    trained(run, dense("sigmoid"), IDS, FLAT, accuracy=[0.5] * 6, inputs={**_SAME, "rows_differ": True})


@pytest.mark.parametrize(
    ("more", "strength"),
    [
        ({}, Strength.ESTABLISHED),
        ({"step": 1, "rows": 50}, Strength.SUPPORTED),
        ({"step": 1, "rows": 6}, Strength.SUPPORTED),  # black images
        ({"step": 1, "rows": 6, "distinct": 9, "std": 1.0}, None),
        ({"rows": 4}, None),
    ],
)
def test_a_batch_of_equal_rows_is_weaker_than_rows_from_all_of_the_data(
    tmp_path: Path, more: dict[str, Any], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense("sigmoid"), IDS, FLAT, inputs={**_SAME, **more})
    found = [one.strength for one in run.verdict().findings if one.cause == "input-constant"]
    assert found == ([strength] if strength is not None else [])


def test_one_of_two_inputs_may_be_constant(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense("sigmoid"), IDS, FLAT, inputs=_SAME, more=(values("input", name="1", **INPUTS),))
    assert "input-constant" not in run.slugs()


def test_what_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().strength is Strength.ESTABLISHED
    assert title_of(run.first()) == "all input rows are the same (train.py:20)"
    assert facts(run.first())["inputs.all-equal"]["rows"] == 1000
    assert remedies(run.first()) == ["inputs.look-at-them"]
