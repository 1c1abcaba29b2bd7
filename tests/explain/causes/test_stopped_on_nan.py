"""TerminateOnNaN ended the training."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal import events as ev
from holdfast.report.verdict import render
from tests.explain.broken_numbers import broke
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    run.fit(epochs=10)
    run.probe(ev.StopRequested(by="TerminateOnNaN", step=33, epoch=0))
    run.output("Batch 33: Invalid loss, terminating training\n")
    run.epochs([33], [float("nan")], stopped=True)
    run.ended(0)


def near_miss(run: Run) -> None:
    """Armed, and never fired."""
    run.fit(epochs=5, callbacks=[{"class": "EarlyStopping", "settings": {"monitor": "loss", "patience": 3}}])
    run.epochs([100] * 5)
    run.ended(0)


def test_keras_2_has_no_raise_error(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.FrameworkSeen(name="tf_keras"))
    example(run)
    assert remedies(run.first()) == ["nan.cure-the-loss", "nan.raise-keras-2"]
    assert facts(run.first())["stop.set-at-step"] == {"by": "TerminateOnNaN", "step": 33}


def test_keras_2_is_not_advised_to_use_what_it_does_not_have(tmp_path: Path) -> None:
    for name, has_it in (("keras", True), ("tf_keras", False)):
        run = Run(tmp_path / name)
        run.probe(ev.FrameworkSeen(name=name, backend="tensorflow"))
        run.fit()
        run.probe(ev.NonFiniteSeen(what="loss", name="loss", step=1, value="nan"))
        run.probe(ev.StopRequested(by="TerminateOnNaN", step=1))
        run.epochs([1], [float("nan")], stopped=True)
        run.ended(0)
        verdict = run.verdict()
        assert verdict.findings[0].cause == "stopped-on-nan"
        assert ("raise_error" in render(verdict)) is has_it
        assert "unknown before" not in render(verdict)


@pytest.mark.parametrize(
    ("code", "message", "later", "found"),
    [
        ('raise Diverged("no more")', "no more", None, ["loss-singular", "stopped-on-nan"]),
        ("if bad: raise Diverged(1)", "1", None, ["loss-singular", "stopped-on-nan"]),
        ("assert fine", "", None, ["loss-singular", "stopped-on-nan"]),
        (
            "loss.backward()",
            "returned nan values in its 0th output",
            None,
            ["loss-singular", "stopped-on-nan"],
        ),
        ("save(model)", "no space", None, ["script-error", "loss-singular"]),
        ('raise Diverged("no more")', "no more", 0.4, ["script-error", "loss-singular"]),  # it had recovered
    ],
)
def test_a_check_of_the_scripts_own_is_the_messenger(
    tmp_path: Path, code: str, message: str, later: float | None, found: list[str]
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="jax", where="train.py:20"), broke(weights_finite_before=False))
    if later is not None:
        run.probe(ev.LossSeen(step=40, logs={"loss": later}, step_loss=later))
    run.raised("Diverged", message, user_line="train.py:31", user_code=code)
    assert run.slugs() == found


@pytest.mark.parametrize("code", [1, 0])
def test_a_script_that_leaves_by_exit_after_its_loss_broke(tmp_path: Path, code: int) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="jax", where="train.py:20"), broke(weights_finite_before=False))
    run.probe(ev.ExitCalled(by="sys.exit", code=code, where="train.py:40"))
    run.ended(code)
    assert run.first().cause == "loss-singular"
    assert ("stopped-on-nan" in run.slugs()) is bool(code)
