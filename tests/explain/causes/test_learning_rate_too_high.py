"""A loss that grows over several steps is the learning rate; one that jumps in one step is the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.broken_numbers import GROWING, ORDINARY, broke, broken_loop, nan_run
from tests.explain.looked_at import FALLS, FLAT, kernel, moves, targets, trained
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    detail = {"recent_steps": GROWING}
    nan_run(run, broke(step=5, value="inf", last_finite=4.5e21, learning_rate=5.0, detail=detail))


def near_miss(run: Run) -> None:
    nan_run(run, broke())


def test_the_losses_and_the_learning_rate_are_facts(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.led_to) == (Strength.SUPPORTED, "loss-not-finite")
    assert first.title.values == {"step": 5, "learning_rate": 5.0}
    assert facts(first)["loss.grew-until-it-broke"] == {"losses": GROWING, "value": "inf", "step": 5}
    assert facts(first)["learning-rate.was"] == {"learning_rate": 5.0}
    assert remedies(first) == ["learning-rate.lower", "gradients.clip"]
    assert first.remedies[0].values == {"learning_rate": 0.1}


def test_a_loss_that_grows_step_by_step(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    broken_loop(run, [*ORDINARY, 2.0, 90.0, 7e4, 3e9, 1e18])
    assert (run.first().cause, run.first().strength) == ("learning-rate-too-high", Strength.SUPPORTED)


def test_a_jump_from_an_ordinary_loss_is_not_the_learning_rate(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    broken_loop(run, [*ORDINARY, 5.7e23])
    verdict = run.verdict()
    assert [(one.cause, one.strength) for one in verdict.findings] == [
        ("loss-not-finite", Strength.SUPPORTED)
    ]
    ruled_out = {one.cause: one for one in verdict.ruled_out}["learning-rate-too-high"]
    assert ruled_out.kind == "learning-rate-too-high.jumped"
    assert ruled_out.values == {"before": pytest.approx(0.068), "last": 5.7e23}


def test_a_loss_that_grew_and_stayed_finite(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    for step, loss in enumerate([8.0, 2681.0, 2681.0, 8e4, 8e4, 7e5, 3e6, 3e6, 4e6, 4e6], start=1):
        run.probe(ev.LossSeen(step=step, logs={"loss": loss}, learning_rate=0.5))
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength) == ("learning-rate-too-high", Strength.SUPPORTED)
    assert first.title.values == {"times": 5e5, "learning_rate": 0.5}
    assert facts(first)["loss.between"] == {"first": 8.0, "first_step": 1, "last": 4e6, "last_step": 10}
    assert first.remedies[0].values == {"learning_rate": 0.05}


def test_a_loss_that_grows_a_hundredfold_may_be_meant(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    for step in range(1, 11):
        run.probe(ev.LossSeen(step=step, logs={"loss": 0.01 * step**2}, learning_rate=0.5))
    run.ended(0)
    assert run.blamed() == []


def test_a_loss_that_begins_next_to_nothing_may_become_an_ordinary_one(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    for step in range(1, 11):
        run.probe(ev.LossSeen(step=step, logs={"loss": 1e-5 if step < 4 else 2.3}, learning_rate=0.5))
    run.ended(0)
    assert run.blamed() == []


def test_a_loss_that_falls_far_below_zero_has_not_grown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=2, steps=10)
    for step in range(1, 21):
        run.probe(ev.LossSeen(step=step, logs={"loss": 0.1 - 3.0 * step**2}, learning_rate=1e-3))
    run.epochs([10, 10], [-100.0, -1000.0])
    run.ended(0)
    assert run.verdict().findings == ()


@pytest.mark.parametrize(
    ("losses", "learning_rate", "found"),
    [
        ([6.5e9, 6.4e9, 6.3e9], 20.0, True),
        ([1.5e22, 2.1e25], 2e4, True),
        ([6.5e9, 6.4e9, 6.3e9], 0.01, False),  # targets that are not scaled
        ([0.7, 0.5, 0.4], 20.0, False),
    ],
)
def test_a_loss_that_was_never_seen_small(
    tmp_path: Path, losses: list[float], learning_rate: float, found: bool
) -> None:
    """The program shows it every hundred steps."""
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="tf_function", where="model_lib.py:661"))
    for number, loss in enumerate(losses, 1):
        run.probe(ev.LossSeen(step=100 * number, logs={"loss": loss}, learning_rate=learning_rate))
    run.samples(3, step=100 * len(losses))
    run.ended(0)
    assert ("learning-rate-too-high" in run.slugs()) is found


@pytest.mark.parametrize(
    ("step", "learning_rate", "found"), [(100, 1e18, True), (1, 1e18, False), (100, 0.01, False)]
)
def test_a_loss_that_is_broken_when_it_is_first_known(
    tmp_path: Path, step: int, learning_rate: float, found: bool
) -> None:
    """The loss of the first step is computed before any weight changes."""
    run = Run(tmp_path / "run")
    run.probe(ev.NonFiniteSeen(what="loss", name="loss", step=step, value="nan", learning_rate=learning_rate))
    run.samples(3, step=200)
    run.ended(0)
    assert ("learning-rate-too-high" in run.slugs()) is found


def _leaps(path: Path, ratio: float, losses: list[float]) -> Run:
    run = Run(path / "run")
    targets(run)
    early = moves(kernel("dense", 0.1 * ratio), since="step", step=4)
    late = moves(kernel("dense", 1e-4), since="step", step=161)  # the weights have grown meanwhile
    trained(run, losses, early, late, model={"learning_rate": 3.0})
    return run


@pytest.mark.parametrize(
    ("ratio", "losses", "blamed"), [(0.4, FLAT, True), (0.02, FLAT, False), (0.4, FALLS, False)]
)
def test_steps_that_replace_the_weights(
    tmp_path: Path, ratio: float, losses: list[float], blamed: bool
) -> None:
    run = _leaps(tmp_path, ratio, losses)
    assert ("learning-rate-too-high" in run.blamed()) is blamed
    if blamed:
        assert run.first().title.values == {"ratio": pytest.approx(0.4), "learning_rate": 3.0}
        assert remedies(run.first()) == ["learning-rate.lower", "gradients.clip"]


def test_a_short_training_that_came_down_to_a_constant_answer_is_not_blamed(tmp_path: Path) -> None:
    """Sixty steps of a healthy one: its fourth changed the weights by a tenth, and the loss fell from 1.6 to 0.67."""
    run = Run(tmp_path / "run")
    targets(run)
    early = moves(kernel("dense", 0.0105), since="step", step=4)
    late = moves(kernel("dense", 0.003), since="step", step=16)
    trained(run, [1.647, 0.71, 0.69, 0.6743], early, late, model={"learning_rate": 0.05}, steps=15)
    blamed = [one for one in run.verdict().findings if one.cause == "learning-rate-too-high"]
    assert [one.strength for one in blamed if one.strength is not Strength.POSSIBLE] == []


def test_a_spike_after_which_it_stays_above_a_constant_answer(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    for step, loss in enumerate([0.8, 30.0, 90.0, 12.0, 2.0, 1.1, 1.0], start=1):
        run.probe(ev.LossSeen(step=step, logs={"loss": loss}, step_loss=loss))
    trained(run, [2.0, 1.1, 1.0, 1.0, 1.0, 1.0], model={"learning_rate": 0.1})
    first = run.first()
    assert (first.cause, first.strength) == ("learning-rate-too-high", Strength.POSSIBLE)
    assert facts(first)["loss.spike"]["highest"] == 90.0


@pytest.mark.parametrize(
    ("rms", "blamed"), [(1e-31, "regularisation-too-strong"), (0.5, "learning-rate-too-high")]
)
def test_leaps_that_leave_nothing_of_the_weights_are_a_decay(tmp_path: Path, rms: float, blamed: str) -> None:
    """Steps as large go to other weights where the rate is too high, and to none where a decay takes its share."""
    run = Run(tmp_path / "run")
    targets(run)
    leaps = [kernel(f"layer{place}", 0.02) for place in range(2)]
    ends = [{**kernel(f"layer{place}", 0.1), "rms": rms} for place in range(2)]
    trained(run, FLAT, moves(*leaps, since="step", step=4), moves(*ends))
    assert run.slugs()[0] == blamed
    ruled_out = {one.cause: one for one in run.verdict().ruled_out}
    if blamed == "regularisation-too-strong":
        assert ruled_out["learning-rate-too-high"].kind == "learning-rate-too-high.weights-vanish"
        assert ruled_out["learning-rate-too-high"].values == {"shrunk": rms / 0.1}
        assert run.slugs() == ["regularisation-too-strong"]
