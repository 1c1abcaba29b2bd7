"""Batch normalisation with one row, and with averages that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.looked_at import FALLS, FLAT, dense, look, targets, trained
from tests.explain.made import Run, facts

_KINDS = {"layer_kinds": {"Dense": 2, "BatchNormalization": 1}}


def example(run: Run) -> None:
    targets(run)
    trained(run, FALLS, look([dense("dense")], loss=0.08, loss_inference=3.1), model=_KINDS)


def near_miss(run: Run) -> None:
    targets(run)
    trained(run, FALLS, look([dense("dense")], loss=0.08, loss_inference=0.12), model=_KINDS)


def test_both_losses_are_facts(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert facts(run.first())["loss.by-mode"] == {"loss": 0.08, "predicts": 3.1, "rows": 64, "steps": 240}


@pytest.mark.parametrize(
    ("rows", "kinds", "losses", "strength"),
    [
        (1, {"Dense": 2, "BatchNormalization": 1}, FLAT, Strength.SUPPORTED),
        (2, {"Dense": 2, "BatchNormalization": 1}, FLAT, Strength.POSSIBLE),
        (1, {"Dense": 2, "BatchNormalization": 1}, FALLS, None),
        (1, {"Conv2D": 2, "BatchNormalization": 1}, FLAT, None),  # it averages over positions
        (1, {"Dense": 2}, FLAT, None),
    ],
)
def test_batches_of_a_row(
    tmp_path: Path, rows: int, kinds: dict[str, int], losses: list[float], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, losses, model={"layer_kinds": kinds}, batch_size=rows)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("batch-norm-misused") == strength


def test_a_trial_of_two_epochs_is_not_blamed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, [0.6, 0.2], look([dense("dense")], loss=0.08, loss_inference=3.1), model=_KINDS)
    assert run.blamed() == []


@pytest.mark.parametrize(("before", "blamed"), [("Dense", True), ("Conv2D", False)])
def test_behind_a_dense_layer_of_a_convolutional_network(tmp_path: Path, before: str, blamed: bool) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    rows = [{"name": one, "kind": one} for one in ("Conv2D", before, "BatchNormalization", "ReLU", "Dense")]
    run.probe(ev.LayersSeen(model="m", layers=rows, layers_in_all=len(rows)))
    kinds = {"layer_kinds": {"Conv2D": 1, "Dense": 2, "BatchNormalization": 1}}
    trained(run, FLAT, model=kinds, batch_size=1)
    assert ("batch-norm-misused" in run.slugs()) is blamed
