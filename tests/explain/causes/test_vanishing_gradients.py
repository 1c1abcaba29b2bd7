"""Gradients that shrink towards the first layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explain.looked_at import FLAT, dense, gradient, kernel, look, moves, predictions, targets, trained
from tests.explain.made import Run, facts, remedies

_LAYERS = [dense(f"dense_{n}", "sigmoid", stuck=0.0, saturated=0.0) for n in range(5)]


def _fit(run: Run, norms: list[float]) -> None:
    targets(run)
    gradients = [gradient(f"dense_{n}", norm) for n, norm in enumerate(norms)]
    trained(run, FLAT, look(_LAYERS, gradients), predictions(differ=True))


def example(run: Run) -> None:
    _fit(run, [1e-8, 1e-6, 1e-4, 1e-2, 0.4])


def near_miss(run: Run) -> None:
    """Ten times smaller at the first layer: that is ordinary."""
    _fit(run, [0.01, 0.02, 0.05, 0.1, 0.1])


def test_both_ends_are_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    found = facts(run.first())["gradient.by-depth"]
    assert (found["first"], found["first_norm"], found["last"], found["last_norm"]) == (
        "dense_0",
        1e-8,
        "dense_4",
        0.4,
    )
    assert facts(run.first())["layers.bounded"]["count"] == 4


@pytest.mark.parametrize(("norms", "blamed"), [([1e-9, 0.1], False), ([1e-9, 1e-4, 0.1], True)])
def test_two_layers_are_not_deep(tmp_path: Path, norms: list[float], blamed: bool) -> None:
    run = Run(tmp_path / "run")
    _fit(run, norms)
    assert ("vanishing-gradients" in run.blamed()) is blamed


@pytest.mark.parametrize(
    ("units", "kind"), [(1, "vanishing-gradients.normalised-alone"), (16, "vanishing-gradients")]
)
def test_a_normalisation_of_one_value_is_named(tmp_path: Path, units: int, kind: str) -> None:
    """As in keras.io's timeseries_classification_transformer: series with one channel, normalised in every block."""
    run = Run(tmp_path / "run")
    targets(run)
    norm = dense("layer_normalization", "", kind="LayerNormalization", units=units)
    gradients = [gradient(f"dense_{n}", norm) for n, norm in enumerate([0.0, 0.0, 0.0, 0.2, 0.1])]
    trained(run, FLAT, look([*_LAYERS[:3], norm, *_LAYERS[3:]], gradients), predictions(differ=True))
    first = run.first()
    assert first.title.kind == kind
    if units == 1:
        assert facts(first)["gradient.zero-at"]["layers"] == ["dense_0", "dense_1", "dense_2"]
        assert remedies(first) == ["norm.over-more-values"]


@pytest.mark.parametrize(
    ("changes", "blamed"),
    [
        ([1e-9, 1e-8, 1e-6, 1e-4, 1e-2], True),
        ([1e-2, 1e-9, 1e-8, 1e-6, 1e-4, 3e-2], True),  # the last layer was made first
        ([1e-9, 1e-9, 1e-9, 1e-9, 1e-2], False),  # a backbone that stands still
        ([1e-4, 1e-3, 1e-3, 1e-2, 1e-2], False),
        ([1e-9, 1e-2], False),
    ],
)
def test_a_model_that_was_not_looked_at_by_how_far_its_weights_moved(
    tmp_path: Path, changes: list[float], blamed: bool
) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, FLAT, moves(*[kernel(f"dense_{n}", change) for n, change in enumerate(changes)]))
    assert ("vanishing-gradients" in run.blamed()) is blamed
