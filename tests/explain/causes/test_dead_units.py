"""ReLU units that are zero for every row."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.looked_at import (
    FALLS,
    FLAT,
    dense,
    gradient,
    kernel,
    look,
    moves,
    predictions,
    targets,
    trained,
)
from tests.explain.made import Run, facts, remedies

_LAST = dense("dense_1", "sigmoid", units=1)


def example(run: Run) -> None:
    targets(run)
    seen = look([dense("dense", zero=1.0), _LAST], [gradient("dense", 0.0), gradient("dense_1", 0.1)])
    trained(run, FLAT, seen, predictions(differ=False))


def near_miss(run: Run) -> None:
    """Half of the units are idle, as in any trained network, and the loss does not fall."""
    targets(run)
    seen = look([dense("dense", zero=0.6), _LAST], [gradient("dense", 0.2), gradient("dense_1", 0.1)])
    trained(run, FLAT, seen, predictions(differ=True))


def test_a_dead_layer_leaves_no_other_reading(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.cause, first.strength) == ("dead-units", Strength.ESTABLISHED)
    assert facts(first)["units.zero"]["share"] == 1.0
    assert facts(first)["gradient.exactly-zero"] == {"layer": "dense"}
    assert facts(first)["predictions.the-same"] == {"rows": 64, "value": 0.5}
    assert remedies(first) == ["units.revive", "learning-rate.lower-tenth"]


@pytest.mark.parametrize(
    ("zero", "norm", "losses", "strength"),
    [
        (1.0, 0.3, FLAT, Strength.SUPPORTED),  # a gradient passes beside it
        (0.95, 0.3, FLAT, Strength.SUPPORTED),
        (0.89, 0.3, FLAT, None),
        (1.0, 0.0, FALLS, None),  # it has learned all the same
    ],
)
def test_how_sure_it_is(
    tmp_path: Path, zero: float, norm: float, losses: list[float], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    seen = look([dense("dense", zero=zero), _LAST], [gradient("dense", norm)])
    trained(run, losses, seen, predictions(differ=norm > 0))
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("dead-units") == strength


def test_a_dead_last_layer_is_to_have_no_relu(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    seen = look([dense("dense", "tanh"), dense("out", "relu", units=1, zero=1.0)], [gradient("out", 0.0)])
    trained(run, FLAT, seen, predictions(differ=False, mean=0.0))
    assert (run.first().cause, run.first().strength) == ("dead-units", Strength.SUPPORTED)
    assert remedies(run.first()) == ["output.no-relu"]


@pytest.mark.parametrize(("change", "blamed"), [(0.0, True), (1e-4, False)])
def test_weights_that_never_moved_show_it_without_a_look(tmp_path: Path, change: float, blamed: bool) -> None:
    """A model of the user's own class is not looked at."""
    run = Run(tmp_path / "run")
    targets(run)
    rows = [
        {"name": "a", "kind": "Dense", "activation": "relu", "where": "train.py:9"},
        {"name": "b", "kind": "Dense", "activation": "linear"},
    ]
    run.probe(ev.LayersSeen(model="m", layers=rows, layers_in_all=2))
    still = {**kernel("a", change), "change": change}
    bias = {"name": "bias", "layer": "b", "size": 4, "rms": 0.01, "rms_before": 0.0, "change": 0.01}
    trained(run, FLAT, moves(still, {**kernel("b", 0.0), "change": 0.0}, bias))
    assert (run.first().title.kind == "dead-units.no-gradient") is blamed
