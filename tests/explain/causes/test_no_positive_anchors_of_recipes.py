"""Boxes that no anchor of our own detectors comes near."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies, title_of
from tests.explain.recipe_runs import trained


def compared(uncovered: int, **more: object) -> ev.AnchorsCompared:
    by_class = {"nut": 1.0, "bolt": 0.5}
    known = {"boxes": 100, "uncovered": uncovered, "by_class": by_class, "median_side": 9.0, "input": 320}
    return ev.AnchorsCompared(**{**known, **more})


@pytest.mark.parametrize(
    ("uncovered", "precision", "strength"),
    [
        (95, 0.001, Strength.SUPPORTED),
        (65, 0.001, Strength.POSSIBLE),
        (55, 0.001, None),
        (95, 0.3, None),  # the best anchor is forced on a box, and it learned
        (95, None, None),
    ],
)
def test_the_share_and_what_was_found(
    uncovered: int, precision: float | None, strength: Strength | None, tmp_path: Path
) -> None:
    run = Run(tmp_path / "run")
    trained(run, compared(uncovered), precision=precision)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("no-positive-anchors") == strength


def test_what_is_said_and_what_helps(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", watch="train")
    trained(run, compared(95), precision=0.001)
    first = run.first()
    assert (
        title_of(first)
        == "it found next to nothing, and 95 % of the boxes overlap no anchor by half at 320 px"
    )
    assert facts(first)["anchors.compared"]["classes"] == ["nut"]
    assert remedies(first) == ["anchors.larger-input", "anchors.fit-to-data"]
    run = Run(tmp_path / "fitted")
    trained(run, compared(95, fitted=True), precision=0.001)
    assert remedies(run.first()) == ["anchors.larger-input"]


def test_boxes_that_were_learned_all_the_same(tmp_path: Path) -> None:
    """Eight images, of which each box has its best anchor: the validation finds nothing for want of images."""
    run = Run(tmp_path / "run")
    trained(run, compared(95), precision=0.01, losses=(8.0, 0.3))
    assert run.slugs() == []
