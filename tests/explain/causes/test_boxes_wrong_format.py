"""Boxes that do not fit the output, the images or each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.detection_runs import CORNERS, PIXELS, detector, logged, strengths
from tests.explain.learning_runs import dense
from tests.explain.made import Run, code_of, facts, remedies, title_of

_KIND = [1.0, 0.5, 0.3, 0.2]
_HIGH, _LOW = [0.05, 0.045, 0.044, 0.043], [0.05, 0.01, 0.005, 0.003]
_MIXED = {**CORNERS, "corners": 0.66}
_SIZES = {**CORNERS, "corners": 0.28, "no_size": 0.0}


def example(run: Run) -> None:
    detector(run, _MIXED, logged(_HIGH, _KIND))


def near_miss(run: Run) -> None:
    detector(run, CORNERS, logged(_HIGH, _KIND))


@pytest.mark.parametrize(
    ("target", "box", "found"),
    [
        (_MIXED, _HIGH, [Strength.SUPPORTED]),
        (_MIXED, _LOW, [Strength.POSSIBLE]),  # learned: perhaps two points
        ({**_MIXED, "columns": [[-1.0, 1.0, 0.0, 0.2]] * 4}, _HIGH, []),  # offsets of anchors
        ({**_MIXED, "box_rows": 8}, _HIGH, []),
        ({**_MIXED, "image": []}, _HIGH, []),
        (_SIZES, _HIGH, []),
        ({**PIXELS, "by_one": 0.5}, [200.0, 190.0, 180.0, 170.0], [Strength.SUPPORTED]),
        (PIXELS, [200.0, 190.0, 180.0, 170.0], []),
        ({**PIXELS, "image": [24, 24]}, [200.0, 190.0, 180.0, 170.0], [Strength.SUPPORTED]),
        ({**PIXELS, "image": [24, 24]}, [200.0, 90.0, 30.0, 10.0], [Strength.POSSIBLE]),
    ],
)
def test_numbers_of_the_boxes_decide(
    tmp_path: Path, target: dict[str, Any], box: list[float], found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    detector(run, target, logged(box, _KIND))
    assert strengths(run, "boxes-wrong-format") == found


@pytest.mark.parametrize(
    ("activation", "target", "found"),
    [("sigmoid", PIXELS, [Strength.SUPPORTED]), ("linear", PIXELS, []), ("sigmoid", CORNERS, [])],
)
def test_an_output_that_gives_parts_of_one(
    tmp_path: Path, activation: str, target: dict[str, Any], found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    box = dense(activation, 4, "mean_squared_error", output="box")
    detector(run, target, logged([200.0, 190.0, 180.0, 170.0], _KIND), box=box)
    assert strengths(run, "boxes-wrong-format") == found
    if found:
        assert code_of(run.first().remedies[0]) == "boxes = boxes / [48, 48, 48, 48]"


@pytest.mark.parametrize(
    ("target", "overlap", "found"),
    [(_SIZES, 0.02, [Strength.SUPPORTED]), (_SIZES, 0.6, []), (CORNERS, 0.02, [])],
)
def test_an_overlap_that_stays_at_nothing(
    tmp_path: Path, target: dict[str, Any], overlap: float, found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    detector(run, target, logged(_LOW, _KIND, box_iou=overlap))
    assert strengths(run, "boxes-wrong-format") == found


def test_a_loss_of_overlap_that_stays_high(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    box = dense("linear", 4, "giou_loss", output="box", own_loss=True)
    detector(run, _SIZES, logged([1.0, 0.99, 0.99, 0.98], [0.1, 0.05, 0.05, 0.04]), box=box)
    assert strengths(run, "boxes-wrong-format") == [Strength.SUPPORTED]


def test_what_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert (
        title_of(run.first()) == "some boxes are corners, and others are a position with a width and a height"
    )
    assert facts(run.first())["boxes.columns"]["corners"] == 0.66
    assert remedies(run.first()) == ["boxes.one-format", "boxes.draw"]


_MIRRORED: dict[str, Any] = {**PIXELS, "inverted": [0.0, 0.0], "outside": [0.5, 0.0], "columns": [
    [-46.0, 38.0, -5.0, 20.0], [0.0, 38.0, 14.0, 10.0], [-30.0, 48.0, 6.0, 20.0], [9.0, 48.0, 28.0, 10.0]]}  # fmt: skip
_EXCHANGED: dict[str, Any] = {
    **CORNERS,
    "inverted": [0.5, 0.0],
    "outside": [0.0, 0.0],
    "corners": 0.5,
    "no_size": 0.0,
}
_FLAT_BOXES = [0.2, 0.2, 0.2, 0.2]
_OFFSETS = [[-4.0, 4.0, 0.0, 1.0], [0.0, 4.0, 2.0, 1.0], [-4.0, 5.0, 0.0, 1.0], [0.0, 4.0, 2.0, 1.0]]


@pytest.mark.parametrize(
    ("target", "losses", "found"),
    [
        (_MIRRORED, _FLAT_BOXES, [Strength.SUPPORTED]),
        ({**_MIRRORED, "columns": _OFFSETS}, _FLAT_BOXES, []),  # of anchors
        ({**_MIRRORED, "outside": [0.01, 0.0]}, _FLAT_BOXES, []),
        (_EXCHANGED, _FLAT_BOXES, [Strength.SUPPORTED]),
        (_EXCHANGED, [0.2, 0.05, 0.02, 0.01], [Strength.POSSIBLE]),
        ({**_EXCHANGED, "inverted": [0.5, 0.4]}, _FLAT_BOXES, []),  # a position and a size
        (
            {**_EXCHANGED, "boxes": "line", "classes": "", "ids": {}, "with_box": {}},
            _FLAT_BOXES,
            [],
        ),  # its two ends
    ],
)
def test_a_mirror_in_another_unit(
    tmp_path: Path, target: dict[str, Any], losses: list[float], found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    detector(run, target, logged(losses, [0.9, 0.5, 0.3, 0.2]))
    assert strengths(run, "boxes-wrong-format") == found


_CELLS = {"objects": 400, "one_cell": 0.06, "beyond": 0.0, "highest": 0.99, "negative": 0.0, "follows": 0.1}


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"one_cell": 1.0, "beyond": 1.0, "highest": 250.0}, "boxes-wrong-format.one-cell"),
        ({"negative": 0.4, "follows": -0.95}, "boxes-wrong-format.negative-size"),
        ({"negative": 0.4}, ""),  # logarithms of sizes
        ({"one_cell": 1.0}, ""),  # every object lies in the middle
        ({"beyond": 1.0, "highest": 45.0}, ""),  # places in pixels, on purpose
        ({}, ""),
    ],
)
def test_cells_of_a_grid(tmp_path: Path, more: dict[str, float], kind: str) -> None:
    run = Run(tmp_path / "run")
    target = {"image": [48, 48], "packed": True, "box_rows": 400, "places": 400, "cells": {**_CELLS, **more}}
    detector(run, target, logged(_FLAT_BOXES, [0.9, 0.5, 0.3, 0.2]))
    found = [one for one in run.verdict().findings if one.cause == "boxes-wrong-format"]
    assert [one.title.kind for one in found] == ([kind] if kind else [])
    assert all(one.strength is Strength.SUPPORTED for one in found)


_MAP = {"objects": 600, "rows": 24, "columns": 32, "top": 0, "left": 0, "bottom": 327, "right": 304}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, [Strength.SUPPORTED]),
        ({"bottom": 30, "right": 25, "top": 20, "left": 22}, []),  # they lie anywhere
        ({"bottom": 327, "right": 30}, []),  # all of them stand on the ground
        ({"top": 300, "left": 280}, []),  # at every edge: a map of few places
        ({"objects": 20, "bottom": 12, "right": 11}, []),
    ],
)
def test_objects_that_pile_up_at_the_edge_of_a_map(
    tmp_path: Path, changed: dict[str, int], found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.ObjectMapsSeen(fit=1, name="heat", **{**_MAP, **changed}))
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)
    assert strengths(run, "boxes-wrong-format") == found
    if found:
        assert facts(run.first())["boxes.at-edge"]["right"] == 304
