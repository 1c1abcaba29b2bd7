"""Units that begin with the same weights."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.looked_at import FALLS, FLAT, kernel, moves, targets, trained
from tests.explain.made import Run, facts, title_of

_EQUAL = {"equal_units": True, "equal_units_before": True, "constant_before": True}


def example(run: Run) -> None:
    targets(run)
    trained(run, FLAT, moves(kernel("dense", 0.02, 0.5, **_EQUAL), kernel("dense_1", 0.02, 0.5, **_EQUAL)))


def near_miss(run: Run) -> None:
    """A last layer that begins with zeros: its gradient is another one for each unit."""
    targets(run)
    last = kernel("dense_1", 0.02, 0.02, equal_units_before=True, constant_before=True)
    trained(run, FLAT, moves(kernel("dense", 0.02), last))


def test_the_layers_are_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().strength is Strength.ESTABLISHED
    assert facts(run.first())["units.equal"]["layers"] == ["dense", "dense_1"]
    assert "one constant" in title_of(run.first())


def test_zeros_that_no_step_changed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    zeros = {**kernel("dense", 0.0, **_EQUAL), "rms": 0.0, "rms_before": 0.0}
    trained(run, FLAT, moves(zeros))
    assert title_of(run.first()) == "the weights of dense began as zeros, and no step has changed them"


def test_a_loop_has_no_layers_to_name(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:30"))
    for step in range(1, 31):
        run.probe(ev.LossSeen(step=step, logs={"loss": 0.693}))
    moved = {**kernel("", 0.02, 0.5, **_EQUAL), "name": "w0"}
    run.probe(ev.WeightsMoved(since="start", step=30, variables=[moved]))
    run.ended(0)
    assert run.first().cause == "constant-initialisation"
    assert facts(run.first())["units.equal"]["layers"] == ["w0"]


def test_a_model_that_learned_is_not_blamed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, FALLS, moves(kernel("dense", 0.02, 0.5, **_EQUAL)))
    assert run.blamed() == []
