"""Sigmoid and tanh units at their limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.explain.looked_at import FLAT, dense, look, predictions, targets, trained
from tests.explain.made import Run, facts

_LAST = dense("dense_1", "sigmoid", units=1, stuck=0.0, saturated=0.0)


def example(run: Run) -> None:
    targets(run)
    trained(
        run,
        FLAT,
        look([dense("dense", "sigmoid", stuck=1.0, saturated=1.0), _LAST]),
        predictions(differ=False),
    )


def near_miss(run: Run) -> None:
    """The last layer is at its limits, and different ones: it may be sure of its answers."""
    targets(run)
    last = dense("dense_1", "sigmoid", units=1, stuck=0.0, saturated=0.97)
    trained(
        run, FLAT, look([dense("dense", "sigmoid", stuck=0.1, saturated=0.3), last]), predictions(differ=True)
    )


def test_which_layer_and_how_much(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    found = facts(run.first())["units.saturated"]
    assert (found["layer"], found["share"], found["every_row"], found["rows"]) == ("dense", 1.0, True, 64)


@pytest.mark.parametrize(
    ("layer", "differ", "blamed"),
    [
        (dense("a", "tanh", stuck=0.2, saturated=0.95), True, True),
        (dense("a", "tanh", stuck=0.2, saturated=0.5), True, False),
        ({**dense("a", "tanh", stuck=1.0, saturated=1.0), "kind": "LSTM"}, True, False),
    ],
)
def test_which_layers_count(tmp_path: Path, layer: dict[str, Any], differ: bool, blamed: bool) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, FLAT, look([layer, _LAST]), predictions(differ=differ))
    assert ("saturated-units" in run.blamed()) is blamed


def test_a_last_layer_that_gives_one_limit_for_every_row(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    last = dense("out", "sigmoid", units=1, stuck=1.0, saturated=1.0)
    trained(run, FLAT, look([dense("a"), last]), predictions(differ=False, mean=1.0))
    assert run.first().title.values["layer"] == "out"
