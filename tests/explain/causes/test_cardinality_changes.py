"""Epochs of unlike length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    run.fit(epochs=4, steps=None, data=ev.DatasetSeen(type="tf.data", cardinality=-2))
    run.epochs([10, 6, 11, 5])
    run.ended(0)


def near_miss(run: Run) -> None:
    run.fit(epochs=4, steps=None, data=ev.DatasetSeen(type="tf.data", cardinality=-2))
    run.epochs([25, 24, 25, 26])
    run.ended(0)


def _epochs(path: Path, steps: list[int], kind: str = "tf.data", cardinality: int = -2, **fit: Any) -> Run:
    run = Run(path / "run")
    data = ev.DatasetSeen(type=kind, cardinality=cardinality)
    run.fit(epochs=len(steps), steps=None, data=data, **fit)
    run.epochs(steps)
    run.ended(0)
    return run


def test_the_lengths_are_shown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.ends) == (Strength.SUPPORTED, False)
    assert first.title.values == {"least": 5, "most": 11}
    assert facts(first)["steps.by-epoch"]["steps"] == [10, 6, 11, 5]
    assert remedies(first) == ["dataset.repeat"]


@pytest.mark.parametrize(
    ("steps", "varies"), [([10, 12, 10], False), ([10, 13, 10], True), ([10, 20], False)]
)
def test_a_third_more_in_three_epochs(tmp_path: Path, steps: list[int], varies: bool) -> None:
    assert ("cardinality-changes" in _epochs(tmp_path, steps).slugs()) is varies


@pytest.mark.parametrize(("kind", "cardinality"), [("generator", -2), ("array", -2), ("tf.data", 10)])
def test_other_data_has_other_causes(tmp_path: Path, kind: str, cardinality: int) -> None:
    run = _epochs(tmp_path, [10, 6, 11, 5], kind, cardinality)
    assert "cardinality-changes" not in run.slugs()


def test_one_short_epoch_below_a_given_length_is_no_variation(tmp_path: Path) -> None:
    run = _epochs(tmp_path, [10, 10, 10, 5], steps_per_epoch=10)
    assert "cardinality-changes" not in run.slugs()
