"""Functions that are traced again and again, by how many of their calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    run.probe(
        ev.TracesCounted(
            function="step",
            where="train.py:17",
            traces=64,
            calls=66,
            reason="python-value",
            signatures=["(x: TensorSpec, rate: Literal[0.1])", "(x: TensorSpec, rate: Literal[0.05])"],
        )
    )
    run.ended(0)


def near_miss(run: Run) -> None:
    run.probe(
        ev.TracesCounted(function="step", where="train.py:17", traces=8, calls=4000, reason="new-shape")
    )
    run.ended(0)


def _traced(path: Path, traces: int, calls: int, **more: Any) -> Run:
    run = Run(path / "run")
    event = ev.TracesCounted(function="step", where="train.py:9", traces=traces, calls=calls, **more)
    run.probe(event)
    run.ended(0)
    return run


def test_the_function_its_calls_and_its_signatures(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.ends) == (Strength.ESTABLISHED, False)
    counts = {"function": "step", "where": "train.py:17", "traces": 64, "calls": 66}
    assert first.title.values == {**counts, "reason": "python-value"}
    assert len(facts(first)["function.traced"]["signatures"]) == 2


@pytest.mark.parametrize(
    ("traces", "calls", "strength"),
    [
        (20, 40, Strength.ESTABLISHED),
        (20, 100, Strength.SUPPORTED),
        (14, 20, Strength.POSSIBLE),
        (45, 400, Strength.POSSIBLE),
    ],
)
def test_the_share_of_traced_calls_decides(
    tmp_path: Path, traces: int, calls: int, strength: Strength
) -> None:
    assert _traced(tmp_path, traces, calls).first().strength == strength


@pytest.mark.parametrize(("traces", "calls"), [(45, 100_000), (8, 4000), (39, 300)])
def test_a_few_shapes_among_very_many_calls_are_ruled_out(tmp_path: Path, traces: int, calls: int) -> None:
    verdict = _traced(tmp_path, traces, calls, reason="new-shape").verdict()
    assert not verdict.findings
    assert [one.kind for one in verdict.ruled_out] == ["retracing.few"]


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("new-shape", "function.relax-shapes"),
        ("python-value", "function.pass-tensors"),
        ("new-object", "function.make-once"),
        ("", "function.trace-once"),
    ],
)
def test_the_remedy_follows_the_reason(tmp_path: Path, reason: str, remedy: str) -> None:
    assert remedies(_traced(tmp_path, 64, 66, reason=reason).first()) == [remedy]


def test_a_new_model_has_a_step_of_its_own(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    where = "keras/src/backend/tensorflow/trainer.py:110"
    run.probe(ev.TracesCounted(function="step", where=where, traces=64, calls=66, reason="new-object"))
    run.ended(0)
    assert "retracing" not in run.slugs()


def test_a_warning_alone_is_only_possible(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.output("WARNING: 5 out of the last 5 calls to <function f> triggered tf.function retracing.\n")
    run.ended(0)
    assert (run.first().title.kind, run.first().strength) == ("retracing.warned", Strength.POSSIBLE)


def test_models_that_are_fitted_one_after_the_other_are_traced_once_each(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for number in range(1, 10):
        run.probe(ev.FitStarted(fit=number, epochs=2, planned_steps_per_epoch=8))
        run.epochs([8, 8], fit=number)
    where = "keras/src/backend/tensorflow/trainer.py:131"
    traced = ev.TracesCounted(
        function="one_step_on_data", where=where, traces=27, calls=0, reason="new-shape"
    )
    run.probe(traced)
    run.ended(0)
    assert "retracing" not in run.slugs()
    alone = Run(tmp_path / "alone")
    alone.probe(ev.FitStarted(fit=1, epochs=2, planned_steps_per_epoch=8))
    alone.epochs([40, 40])
    alone.probe(traced)
    alone.ended(0)
    assert alone.slugs()[0] == "retracing"
