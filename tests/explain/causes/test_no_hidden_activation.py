"""A deep network that is linear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.looked_at import FALLS, FLAT, targets, trained
from tests.explain.made import Run, facts


def _layer(name: str, kind: str = "Dense", activation: str = "linear", line: int = 10) -> dict[str, Any]:
    return {"name": name, "kind": kind, "activation": activation, "units": 64, "where": f"train.py:{line}"}


def _fit(run: Run, losses: list[float], *layers: dict[str, Any]) -> None:
    targets(run)
    run.probe(ev.LayersSeen(model="m", layers=list(layers), layers_in_all=len(layers)))
    trained(run, losses)


_OUT = _layer("out", activation="sigmoid")


def example(run: Run) -> None:
    _fit(run, FLAT, _layer("dense"), _layer("drop", "Dropout", ""), _layer("dense_1"), _OUT)


def near_miss(run: Run) -> None:
    _fit(run, FLAT, _layer("dense"), _layer("act", "Activation", "relu"), _OUT)


def test_the_layers_and_the_line_are_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    found = facts(run.first())["layers.linear"]
    assert found == {"layers": ["dense", "dense_1", "out"], "count": 3, "where": "train.py:10"}


@pytest.mark.parametrize(
    ("losses", "layers", "strength"),
    [
        (FALLS, (_layer("a"), _OUT), None),  # linear on purpose, and it learns
        (FLAT, (_OUT,), None),  # a logistic regression
        (FLAT, (_layer("a"), _layer("pool", "MaxPooling2D", ""), _OUT), None),
        (FLAT, (_layer("a"), _layer("b"), _layer("c", activation="relu"), _OUT), Strength.POSSIBLE),
        (FLAT, (_layer("a"), _OUT), Strength.SUPPORTED),
        # As a trial of keras.io's failed_trials: above a constant answer, which a linear model can give.
        ([2.0, 1.7, 1.5], (_layer("a"), _OUT), Strength.POSSIBLE),
    ],
)
def test_only_a_network_that_is_linear_throughout_is_blamed(
    tmp_path: Path, losses: list[float], layers: tuple[dict[str, Any], ...], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    _fit(run, losses, *layers)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("no-hidden-activation") == strength


def test_a_loss_that_broke_is_not_blamed_on_it(tmp_path: Path) -> None:
    """At a rate of 50 every network breaks."""
    run = Run(tmp_path / "run")
    _fit(run, [*FLAT[:2], float("nan")], _layer("dense"), _layer("dense_1"), _OUT)
    found = [one for one in run.verdict().findings if one.cause == "no-hidden-activation"]
    assert all(one.strength is Strength.POSSIBLE for one in found)


@pytest.mark.parametrize(("after", "blamed"), [(["body"], False), (["first"], True)])
def test_outputs_side_by_side_do_not_follow_one_another(
    tmp_path: Path, after: list[str], blamed: bool
) -> None:
    run = Run(tmp_path / "run")
    second = {**_layer("second"), "after": after}
    _fit(run, FLAT, _layer("body", activation="relu"), {**_layer("first"), "after": ["body"]}, second)
    assert ("no-hidden-activation" in run.slugs()) is blamed
