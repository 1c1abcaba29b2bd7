"""The loss or a weight is not a number, and nothing tells why."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.broken_numbers import broke, nan_run
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    nan_run(run, broke())


def near_miss(run: Run) -> None:
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)


def test_a_first_step_that_breaks(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    nan_run(run, ev.NonFiniteSeen(what="loss", name="loss", step=1, value="nan", input_finite=True))
    first = run.first()
    assert (first.cause, first.strength) == ("loss-not-finite", Strength.SUPPORTED)
    assert {"loss.broken-at-first-step", "input.finite"} <= set(facts(first))


def test_weights_found_broken_later_blame_neither_the_data_nor_the_loss(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    event = ev.NonFiniteSeen(
        what="weights", name="dense/kernel", step=100, value="nan", last_finite=64.8, detail={"seen": "later"}
    )
    run.fit(epochs=1)
    run.probe(event)
    run.epochs([100], [64.8])
    run.ended(0)
    verdict = run.verdict()
    assert (verdict.findings[0].cause, verdict.findings[0].strength) == (
        "loss-not-finite",
        Strength.SUPPORTED,
    )
    assert facts(verdict.findings[0])["weights.not-finite"] == {
        "name": "dense/kernel",
        "step": 100,
        "later": True,
    }
    assert facts(verdict.findings[0])["loss.hides-nan"] == {"loss": 64.8}
    assert not [one for one in verdict.findings[1:] if one.strength >= Strength.SUPPORTED]


def test_an_epoch_that_ended_with_nan(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.epochs([100, 100, 100], [0.5, float("nan"), float("nan")])
    run.ended(0)
    assert run.first().title.values == {"value": "nan", "epoch": 2}


def test_a_loss_that_is_only_printed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen())
    run.output("epoch 3 loss: nan\n")
    run.ended(0)
    assert run.first().title.kind == "loss-not-finite.printed"


def test_a_loss_that_a_command_prints_of_which_nothing_inside_reports(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.output("step 100 loss: 0.5\nstep 200 loss: 0.4\nstep 300 loss: nan\nstep 400 loss: nan\n")
    run.ended(0)
    assert (run.first().cause, run.first().because[0].source) == ("loss-not-finite", "output.log:3")
    assert run.first().title.values["step"] == 300


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_the_remedy_names_the_backend_s_own_check(tmp_path: Path, backend: str) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.FrameworkSeen(backend=backend))
    example(run)
    assert remedies(run.first())[0] == "nan.find-operation"
    assert run.first().remedies[0].values == {"backend": backend}


def _with_a_gap(run: Run, *, after: list[float], event: ev.NonFiniteSeen | None = None) -> None:
    """A loop whose loss is not finite at step 33, once."""
    run.probe(ev.LoopSeen(by="jax", where="train.py:12"))
    before = [1.0 - 0.01 * step for step in range(32)]
    for step, loss in enumerate(before, 1):
        run.probe(ev.LossSeen(step=step, logs={"loss": loss}))
    run.probe(event or broke(weights_finite_before=None))
    for step, loss in enumerate(after, 34):
        run.probe(ev.LossSeen(step=step, logs={"loss": loss}))
    run.ended(0)


def test_a_batch_that_is_left_out_is_no_fault(tmp_path: Path) -> None:
    """Its update was skipped, and the loss continues to fall."""
    run = Run(tmp_path / "run")
    _with_a_gap(run, after=[0.6 - 0.005 * step for step in range(40)])
    assert run.slugs() == []


def test_a_batch_of_nan_that_is_left_out_is_no_fault(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _with_a_gap(run, after=[0.6 - 0.005 * step for step in range(40)], event=broke(input_finite=False))
    assert run.slugs() == []


@pytest.mark.parametrize(
    ("after", "more"),
    [
        ([float("nan")] * 40, {}),
        ([0.5] * 5, {}),  # too few to tell
        ([0.9] * 40, {}),  # no better than before: what the weights are is not known
        ([0.5] * 40, {"weights_finite": False}),
        ([0.5] * 30 + [float("inf")] * 10, {}),
    ],
)
def test_a_loss_that_does_not_come_back_is_blamed(
    tmp_path: Path, after: list[float], more: dict[str, object]
) -> None:
    run = Run(tmp_path / "run")
    _with_a_gap(run, after=after, event=broke(weights_finite_before=None, **more))
    assert run.blamed() == ["loss-not-finite"]
