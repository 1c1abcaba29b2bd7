"""Gradients that grow towards the first layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explain.looked_at import FLAT, dense, gradient, look, predictions, targets, trained
from tests.explain.made import Run, facts

_LAYERS = [dense(f"dense_{n}", "linear") for n in range(4)]


def _fit(run: Run, norms: list[float], times: float = 1.0) -> None:
    targets(run)
    gradients = [gradient(f"dense_{n}", norm) for n, norm in enumerate(norms)]
    trained(
        run,
        [times * loss for loss in FLAT],
        look([dense("a"), *_LAYERS], gradients),
        predictions(differ=True),
    )


def example(run: Run) -> None:
    _fit(run, [1e6, 1e5, 1e3, 1.0])


def near_miss(run: Run) -> None:
    _fit(run, [12.0, 6.0, 2.0, 1.0])


def test_both_ends_are_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    found = facts(run.first())["gradient.by-depth"]
    assert (found["first"], found["relative"], found["last"]) == ("dense_0", 250_000.0, "dense_3")


@pytest.mark.parametrize(("norms", "blamed"), [([1.0, 1e-2, 1e-6], False), ([1e6, 1e2, 1e-2], True)])
def test_a_gradient_is_large_against_the_weights(tmp_path: Path, norms: list[float], blamed: bool) -> None:
    run = Run(tmp_path / "run")
    _fit(run, norms)
    assert ("exploding-gradients" in run.blamed()) is blamed


@pytest.mark.parametrize(("times", "blamed"), [(1.0, False), (1000.0, True)])
def test_equally_large_everywhere_with_a_loss_far_above_a_constant_answer(
    tmp_path: Path, times: float, blamed: bool
) -> None:
    run = Run(tmp_path / "run")
    _fit(run, [1e4, 1e4, 1e4], times)
    assert ("exploding-gradients" in run.blamed()) is blamed
