"""Runs that end well and have learnt nothing: what was found, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.report.verdict import render
from tests.explain.made import Run, do_of, sentence, title_of


def _rates_of_epochs(path: Path, rates: list[float], changed: bool) -> Run:
    run = Run(path)
    run.probe(
        ev.ModelSeen(parameters=1000, trainable_parameters=1000, learning_rate=1e-3, where="train.py:25")
    )
    run.fit(epochs=len(rates), callbacks=[{"class": "LearningRateScheduler", "settings": {"verbose": 0}}])
    for epoch, rate in enumerate(rates):
        run.probe(ev.EpochDone(fit=1, epoch=epoch, steps=100, logs={"loss": 1.129}, learning_rate=rate))
    steps = 100 * len(rates)
    run.probe(ev.FitDone(fit=1, steps=steps, epochs_done=len(rates), weights_changed=changed))
    run.ended(0)
    return run


def test_a_rate_of_nothing_from_the_first_epoch_on(tmp_path: Path) -> None:
    verdict = _rates_of_epochs(tmp_path / "run", [0.0] * 6, changed=False).verdict()
    assert [(one.cause, one.strength) for one in verdict.findings] == [
        ("learning-rate-collapsed", Strength.ESTABLISHED)
    ]
    assert title_of(verdict.findings[0]) == "the learning rate is 0 in all 6 epochs: nothing is learnt"
    assert [sentence(fact) for fact in verdict.findings[0].because] == [
        "the learning rate was 0 at the end of all 6 epochs",
        "LearningRateScheduler sets it before each epoch",
        "after 600 steps no weight had changed",
    ]


def test_a_scheduler_that_returns_nothing_is_named_and_no_patience_is_advised(tmp_path: Path) -> None:
    verdict = _rates_of_epochs(tmp_path / "run", [1e-3, 1e-4] + [0.0] * 6, changed=True).verdict()
    assert verdict.findings[0].cause == "learning-rate-collapsed"
    assert "LearningRateScheduler sets it before each epoch" in [
        sentence(fact) for fact in verdict.findings[0].because
    ]
    assert [do_of(one) for one in verdict.findings[0].remedies] == ["a schedule that ends with the training"]


@pytest.mark.parametrize(
    ("half_life", "collapsed"),
    [(4, True), (400, False), (34, False)],  # steps; 34: next to nothing in the last sixth only
)
def test_a_schedule_that_runs_out_in_a_loop_of_ones_own(
    tmp_path: Path, half_life: int, collapsed: bool
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="tf_function", where="train.py:30"))
    for step in (*range(1, 21), *range(40, 401, 20)):
        rate = 1e-2 * 0.5 ** (step / half_life)
        run.probe(ev.LossSeen(step=step, logs={"loss": 1.0 + 1.0 / step}, learning_rate=rate))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=400)
    run.probe(ev.ExitStarted(steps=400))
    run.ended(0)
    found = [one for one in run.verdict().findings if one.cause == "learning-rate-collapsed"]
    assert bool(found) is collapsed
    if collapsed:
        assert found[0].strength == Strength.SUPPORTED
        assert sentence(found[0].because[0]) == "the learning rate was 0.008409 at its highest"


def _by_the_batch(path: Path, *trainable: int) -> list[str]:
    run = Run(path)
    for count in trainable:
        run.probe(ev.ModelSeen(parameters=1000, trainable_parameters=count, where="train.py:25"))
    run.probe(ev.LoopSeen(by="train_on_batch", where="train.py:30"))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=400)
    run.ended(0)
    return [one.cause for one in run.verdict().findings]


def test_a_frozen_model_trained_by_the_batch(tmp_path: Path) -> None:
    assert _by_the_batch(tmp_path / "frozen", 0) == ["nothing-trainable"]
    assert _by_the_batch(tmp_path / "adversary", 1000, 0) == []  # one of two is frozen while the other learns


@pytest.mark.parametrize(("trainable", "reached"), [((), False), ((1000,), False), ((0,), True)])
def test_a_loss_that_no_gradient_comes_from_is_no_frozen_model(
    tmp_path: Path, trainable: tuple[int, ...], reached: bool
) -> None:
    run = Run(tmp_path / "run")
    for count in trainable:
        run.probe(ev.ModelSeen(parameters=1000, trainable_parameters=count, where="train.py:25"))
    run.fit()
    run.raised("ValueError", "No gradients provided for any variable.", user_line="train.py:20")
    found = run.verdict().findings[0]
    assert (found.cause, found.strength) == ("nothing-trainable", Strength.ESTABLISHED)
    assert title_of(found).startswith("nothing is trainable" if reached else "no gradient reaches any weight")


_SOFTMAX = (
    "You are using a softmax over axis -1 of a tensor of shape (50, 1). This axis has size 1. The softmax operation "
    "will always return the value 1, which is likely not what you intended. Did you mean to use a sigmoid instead?"
)


def test_what_keras_warned_of_stands_beside_an_end_that_is_no_fault(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for text, where in (
        (_SOFTMAX, "train.py:6"),
        (_SOFTMAX.replace("50", "32"), "train.py:9"),  # the same again
        (
            "`shuffle=True` was passed, but will be ignored since the data `x` was a tf.data.Dataset.",
            "train.py:9",
        ),
        ("Gradients do not exist for variables ['gate/kernel'] when minimizing the loss.", "train.py:9"),
    ):
        run.probe(ev.WarningSeen(category="UserWarning", text=text, where=where, count=1))
    run.fit(epochs=2)
    run.probe(ev.EpochDone(fit=1, epoch=1, steps=100, logs={"loss": 0.4}))
    run.probe(ev.FitDone(fit=1, steps=200, epochs_done=2, weights_changed=True))
    run.ended(0)
    verdict = run.verdict()
    assert verdict.findings == ()
    assert verdict.went_well
    assert [sentence(fact) for fact in verdict.warned] == [
        f"train.py:6: {_SOFTMAX}",
        "train.py:9: Gradients do not exist for variables ['gate/kernel'] when minimizing the loss.",
    ]
    told = render(verdict).splitlines()
    assert " ".join(line.strip() for line in told[:2]) == (
        "verdict[finished]: it ended by itself; what the framework warned of speaks against the result"
    )
    assert told[3].startswith("  warned  train.py:6: You are using a softmax over axis -1")
