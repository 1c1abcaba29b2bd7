"""float16 ends at 65,504; bfloat16 and float32 do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.broken_numbers import GROWING, broke, nan_run
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    nan_run(run, broke(precision="float16", value="inf"))


def near_miss(run: Run) -> None:
    nan_run(run, broke(precision="mixed_bfloat16"))


def test_precision_and_scale_are_facts(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    nan_run(run, broke(precision="mixed_float16", value="inf", detail={"loss_scale": 32768.0}))
    first = run.first()
    assert (first.cause, first.strength) == ("half-precision-overflow", Strength.SUPPORTED)
    assert facts(first)["precision.float16"] == {"precision": "mixed_float16"}
    assert facts(first)["loss.scale"] == {"scale": 32768.0}
    assert remedies(first) == ["precision.use-bfloat16", "precision.keep-float32"]


def test_a_loss_that_had_grown_far_beyond_float16_speaks_against_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    nan_run(run, broke(precision="float16", last_finite=4.5e21, detail={"recent_steps": GROWING}))
    overflow = next(one for one in run.verdict().findings if one.cause == "half-precision-overflow")
    assert overflow.strength == Strength.POSSIBLE
    assert [fact.kind for fact in overflow.against] == ["loss.grew-beyond-float16"]


def test_equal_units_make_no_loss_nan(tmp_path: Path) -> None:
    """They are mentioned beside what does."""
    run = Run(tmp_path / "run")
    equal = {"name": "kernel", "layer": "dense", "size": 32, "rms": 1.0, "equal_units": True,
             "equal_units_before": True, "change": 0.01, "rms_before": 1.0}  # fmt: skip
    run.probe(ev.WeightsMoved(fit=1, step=40, since="start", variables=[equal]))
    nan_run(run, broke(precision="mixed_float16", value="inf"))
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found["half-precision-overflow"] == Strength.SUPPORTED
    assert found["constant-initialisation"] == Strength.POSSIBLE
    assert run.first().cause == "half-precision-overflow"


@pytest.mark.parametrize(
    ("in_a_row", "half", "loss_finite", "strength"),
    [
        (119, True, False, Strength.SUPPORTED),
        (119, True, True, Strength.POSSIBLE),  # the gradient of a finite loss
        (6, True, False, None),  # the scale was too large at first
        (119, False, False, None),  # float32
    ],
)
def test_a_scaler_that_leaves_out_step_after_step(
    tmp_path: Path, in_a_row: int, half: bool, loss_finite: bool, strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:80"))
    run.probe(
        ev.ScalerSeen(
            steps=200, skipped=in_a_row, in_a_row=in_a_row, longest=in_a_row, scale=0.0, half=half,
            loss_finite=loss_finite, where="train.py:95",
        )
    )  # fmt: skip
    run.ended(0)
    found = [one.strength for one in run.verdict().findings if one.cause == "half-precision-overflow"]
    assert found == ([strength] if strength else [])


@pytest.mark.parametrize(
    ("broken", "in_a_row", "blamed"), [(True, 0, True), (False, 72, True), (False, 3, False)]
)
def test_an_operation_of_float16(tmp_path: Path, broken: bool, in_a_row: int, blamed: bool) -> None:
    """With the loss that broke, or a scaler that leaves out every step; at the first steps a scaler may."""
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:50"))
    run.probe(ev.HalfRangeLeft(step=1, operations=["pow", "sum"], largest=4.02, where="train.py:56"))
    if broken:
        run.probe(ev.NonFiniteSeen(what="loss", name="loss", step=1, value="nan", precision="torch.float32"))
    run.probe(ev.ScalerSeen(steps=80, skipped=in_a_row, in_a_row=in_a_row, half=True, where="train.py:57"))
    run.ended(0)
    assert ("half-precision-overflow" in run.slugs()) is blamed
    if blamed:
        first = run.first()
        assert (first.cause, first.strength) == ("half-precision-overflow", Strength.SUPPORTED)
        assert facts(first)["half.operation-left-range"] == {
            "operations": ["pow", "sum"], "largest": 4.02, "step": 1, "where": "train.py:56"
        }  # fmt: skip
        assert remedies(first) == ["precision.use-bfloat16-in-torch", "precision.keep-float32-in-torch"]


def test_a_loss_that_broke_once_and_was_left_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.HalfRangeLeft(step=20, operations=["mm"], largest=300.0, where="train.py:56"))
    for step in range(1, 60):
        loss = float("inf") if step == 20 else 1.0 / step
        run.probe(ev.LossSeen(step=step, logs={"loss": loss}, step_loss=loss))
    run.probe(ev.NonFiniteSeen(what="loss", name="loss", step=20, value="inf", weights_finite=True))
    run.ended(0)
    assert run.blamed() == []
