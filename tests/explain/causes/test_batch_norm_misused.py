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


def _averages(
    left: float = 0.94, times: float = 30.0, step: int = 240, **more: object
) -> ev.NormalisationSeen:
    layer = {"name": "norm", "momentum": 0.9997, "left": left, "mean_off": 0.4, "times": times}
    return ev.NormalisationSeen(**{"fit": 1, "step": step, "layers": [layer, layer], **more})


def _in_a_fit(run: Run, seen: ev.NormalisationSeen, validated: float | None) -> None:
    targets(run)
    run.probe(ev.ModelSeen(parameters=500, trainable_parameters=500, **_KINDS))
    run.fit(epochs=4, steps=60, iterations=0)
    for number, loss in enumerate([0.5, 0.3, 0.1, 0.05]):
        logs = {"loss": loss, **({"val_loss": validated} if validated is not None else {})}
        run.probe(ev.EpochDone(fit=1, epoch=number, steps=60, logs=logs, duration_s=1.0))
    run.probe(seen, ev.FitDone(fit=1, steps=240, epochs=4, epochs_done=4, steps_by_epoch=[60] * 4))
    run.ended(0)


@pytest.mark.parametrize(
    ("seen", "validated", "strength"),
    [
        (_averages(), 0.8, Strength.SUPPORTED),
        (_averages(), None, Strength.POSSIBLE),  # nothing was predicted
        (_averages(), 0.06, None),  # it validates well
        (_averages(left=0.1), 0.8, None),  # the validation is bad for another reason
        (_averages(times=1.5), 0.8, None),  # they happen to fit
        (_averages(times=2.2), 9.9, Strength.SUPPORTED),  # it validates as badly as a constant answer
        (_averages(times=2.2), 0.3, None),  # it only learned by heart
        (_averages(times=2.2, left=0.7), 9.9, None),  # a third of each average is of the batches
        (_averages(step=60), 0.8, None),  # a trial
        (_averages(fit=None), 0.8, None),  # of a loop beside it
    ],
)
def test_averages_that_are_still_what_they_began_with(
    tmp_path: Path, seen: ev.NormalisationSeen, validated: float | None, strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    _in_a_fit(run, seen, validated)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("batch-norm-misused") == strength


@pytest.mark.parametrize(
    ("evaluated", "role", "strength"),
    [
        (True, "train", Strength.SUPPORTED),
        (False, "train", Strength.POSSIBLE),
        (None, "validation", Strength.SUPPORTED),
        (None, "train", Strength.POSSIBLE),
    ],
)
def test_averages_of_a_loop(tmp_path: Path, evaluated: bool | None, role: str, strength: Strength) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:12"), ev.DatasetSeen(role=role))
    for step in range(1, 241):
        run.probe(ev.LossSeen(step=step, logs={"loss": 1.0 / step}))
    run.probe(_averages(fit=None, evaluated=evaluated))
    run.ended(0)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("batch-norm-misused") == strength


def test_a_softened_loss_is_as_good_as_constant(tmp_path: Path) -> None:
    """With smoothed labels a constant answer has a loss a little below that of the labels."""
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, FALLS, look([dense("dense")], loss=0.08, loss_inference=0.69), model=_KINDS)
    assert run.blamed() == ["batch-norm-misused"]


def test_a_model_that_is_saved_is_meant_to_predict(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="tf_function", where="train.py:12"))
    for step in range(1, 241):
        run.probe(ev.LossSeen(step=step, logs={"loss": 1.0 / step}))
    run.probe(ev.SaveDone(path="m.keras"), _averages(fit=None))
    run.ended(0)
    assert run.blamed() == ["batch-norm-misused"]


@pytest.mark.parametrize(("step", "blamed"), [(600, ["batch-norm-misused"]), (40, [])])
def test_averages_that_a_step_of_jax_throws_away(tmp_path: Path, step: int, blamed: list[str]) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="jax", where="train.py:80"))
    names = ["batch_stats.norm.mean", "batch_stats.norm.var"]
    run.probe(ev.AveragesUnmoved(step=step, names=names, where="train.py:44", evaluated="train.py:55"))
    run.ended(0)
    assert run.blamed() == blamed
    if blamed:
        first = run.first()
        assert first.title.kind == "batch-norm-misused.thrown-away"
        assert facts(first)["norm.averages-unmoved"]["names"] == names
