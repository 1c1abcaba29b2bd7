"""TerminateOnNaN ended the training."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import events as ev
from holdfast.report.verdict import render
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
