"""Dropout that leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.looked_at import FALLS, FLAT, dense, look, targets, trained
from tests.explain.made import Run, facts


def _drop(rate: float, name: str = "dropout") -> dict[str, object]:
    return {"name": name, "kind": "Dropout", "rate": rate}


def _fit(run: Run, losses: list[float], *layers: dict[str, object], looks: tuple[ev.Event, ...] = ()) -> None:
    targets(run)
    run.probe(ev.LayersSeen(model="m", layers=list(layers), layers_in_all=len(layers)))
    trained(run, losses, *looks)


def example(run: Run) -> None:
    _fit(run, FLAT, dense("dense"), _drop(0.95), dense("out", "sigmoid"))


def near_miss(run: Run) -> None:
    _fit(run, FLAT, dense("dense"), _drop(0.5), dense("out", "sigmoid"))


def test_what_is_left(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    found = facts(run.first())["dropout.leaves"]
    assert found["left"] == pytest.approx(0.05)
    assert (found["layers"], found["rate"]) == (["dropout"], 0.95)


@pytest.mark.parametrize(
    ("rates", "between", "losses", "strength"),
    [
        ((0.6, 0.6), False, FLAT, Strength.SUPPORTED),  # 16 % in a row
        ((0.6, 0.6), True, FLAT, None),
        ((0.9,), False, FALLS, None),
    ],
)
def test_layers_in_a_row(
    tmp_path: Path, rates: tuple[float, ...], between: bool, losses: list[float], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    layers: list[dict[str, object]] = [dense("dense")]
    for number, rate in enumerate(rates):
        layers += [_drop(rate, f"dropout_{number}"), *([dense("more")] if between else [])]
    _fit(run, losses, *layers, dense("out", "sigmoid"))
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("dropout-too-strong") == strength


def test_the_loss_without_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    seen = look([dense("dense"), _drop(0.9)], loss=0.9, loss_inference=0.4)
    _fit(run, FLAT, dense("dense"), _drop(0.9), looks=(seen,))
    assert facts(run.first())["loss.without-dropout"] == {"loss": 0.9, "predicts": 0.4}


@pytest.mark.parametrize(("predicts", "blamed"), [(0.01, True), (0.7, False)])
def test_dropout_behind_the_last_layer(tmp_path: Path, predicts: float, blamed: bool) -> None:
    run = Run(tmp_path / "run")
    seen = look([dense("dense"), dense("out"), _drop(0.5)], loss=0.8, loss_inference=predicts)
    softmax = {"name": "softmax", "kind": "Activation", "activation": "softmax"}
    _fit(run, FALLS, dense("dense"), dense("out", "linear"), _drop(0.5), softmax, looks=(seen,))
    assert ("dropout-too-strong" in run.blamed()) is blamed
    if blamed:
        assert run.first().title.kind == "dropout-too-strong.outputs"


def _loop(run: Run, rates: list[float], losses: list[float]) -> None:
    run.probe(
        ev.LoopSeen(by="torch_optimizer", where="train.py:40"),
        ev.ValuesSeen(role="target", rows=100, classes={"0": 50, "1": 50}, class_count=2, shape=[]),
        ev.OutputSeen(by="call", loss="sparse_categorical_crossentropy", units=2),
        ev.DropoutSeen(step=8, rates=rates, where="train.py:33"),
    )
    for step, loss in enumerate(losses, 1):
        run.probe(ev.LossSeen(step=step, logs={"loss": loss}, step_loss=loss))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=len(losses))
    run.ended(0)


_CHANCE = [0.71 + 0.02 * (step % 3 - 1) for step in range(200)]


@pytest.mark.parametrize(
    ("rates", "losses", "strength"),
    [
        ([0.1, 0.9], _CHANCE, Strength.SUPPORTED),
        ([0.1, 0.5], _CHANCE, None),
        ([0.1, 0.9], [0.7 * 0.98**step for step in range(200)], None),  # it learns
        ([0.9], _CHANCE[:60], None),
    ],
)
def test_what_a_step_of_a_loop_drops(
    tmp_path: Path, rates: list[float], losses: list[float], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    _loop(run, rates, losses)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("dropout-too-strong") == strength
