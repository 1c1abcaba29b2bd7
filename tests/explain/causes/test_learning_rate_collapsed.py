"""A learning rate that fell to next to nothing long before the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies


def _rates(run: Run, rates: list[float], *, schedule: str = "", reducer: bool = True) -> None:
    callbacks = (
        [
            {
                "class": "ReduceLROnPlateau",
                "settings": {"factor": 0.01, "patience": 0, "min_delta": 1, "min_lr": 0},
            }
        ]
        if reducer
        else []
    )
    run.probe(
        ev.ModelSeen(
            parameters=10, trainable_parameters=10, learning_rate=rates[0], learning_rate_schedule=schedule
        )
    )
    run.fit(epochs=len(rates), callbacks=callbacks)
    for epoch, rate in enumerate(rates):
        run.probe(
            ev.EpochDone(epoch=epoch, steps=100, logs={"loss": 0.7 - 0.001 * epoch}, learning_rate=rate)
        )
    run.probe(
        ev.FitDone(
            steps=100 * len(rates),
            epochs=len(rates),
            epochs_done=len(rates),
            steps_by_epoch=[100] * len(rates),
        )
    )
    run.ended(0)


def example(run: Run) -> None:
    _rates(run, [1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-11, 1e-11, 1e-11])


def near_miss(run: Run) -> None:
    """A cosine that ends with the training."""
    _rates(run, [1e-3, 9e-4, 7e-4, 5e-4, 3e-4, 1e-4, 2e-5, 1e-9], schedule="CosineDecay", reducer=False)


def test_the_learning_rates_are_values(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.cause, first.strength) == ("learning-rate-collapsed", Strength.ESTABLISHED)
    assert first.title.values == {"last": 1e-11, "epochs_done": 3, "epochs": 8}
    assert facts(first)["learning-rate.fell"] == {"highest": 1e-3, "fell_to": 1e-7, "epoch": 3, "last": 1e-11}
    assert facts(first)["learning-rate.reduced-by"]["callback"] == "ReduceLROnPlateau"
    assert remedies(first) == ["learning-rate.more-patience", "learning-rate.schedule-to-the-end"]


def test_a_loss_that_still_falls_was_not_held_back(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=8)
    for epoch, rate in enumerate([1e-3, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7]):
        run.probe(ev.EpochDone(epoch=epoch, steps=100, logs={"loss": 0.7 - 0.05 * epoch}, learning_rate=rate))
    run.ended(0)
    assert "learning-rate-collapsed" not in run.slugs()


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


def test_a_learning_rate_of_zero_from_the_first_epoch(tmp_path: Path) -> None:
    verdict = _rates_of_epochs(tmp_path / "run", [0.0] * 6, changed=False).verdict()
    found = [(one.cause, one.strength) for one in verdict.findings]
    assert found == [("learning-rate-collapsed", Strength.ESTABLISHED)]
    assert verdict.findings[0].title.values == {"epochs": 6}
    expected = {
        "learning-rate.zero": {"epochs": 6},
        "learning-rate.set-by-callback": {"callback": "LearningRateScheduler"},
        "weights.none-changed": {"steps": 600},
    }
    assert facts(verdict.findings[0]) == expected


def test_a_scheduler_that_returns_zero_is_named_and_no_patience_is_advised(tmp_path: Path) -> None:
    first = _rates_of_epochs(tmp_path / "run", [1e-3, 1e-4] + [0.0] * 6, changed=True).first()
    assert first.cause == "learning-rate-collapsed"
    assert facts(first)["learning-rate.set-by-callback"] == {"callback": "LearningRateScheduler"}
    assert remedies(first) == ["learning-rate.schedule-to-the-end"]


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
        assert facts(found[0])["learning-rate.highest"]["learning_rate"] == pytest.approx(0.008409, rel=1e-3)


def _rates_by_callback(
    run: Run, of: Callable[[int], float], callback: str, loss: Callable[[int], float]
) -> None:
    run.probe(
        ev.FitStarted(
            epochs=100, planned_steps_per_epoch=100, callbacks=[{"class": callback, "settings": {}}]
        )
    )
    for epoch in range(100):
        logs = {"loss": loss(epoch)}
        run.probe(ev.EpochDone(epoch=epoch, steps=100, logs=logs, learning_rate=of(epoch), duration_s=10))
    run.probe(ev.FitDone(steps=10_000, epochs=100, epochs_done=100, steps_by_epoch=[100] * 100))
    run.ended(0)


@pytest.mark.parametrize("callback", ["ReduceLROnPlateau", "LearningRateScheduler"])
def test_a_low_learning_rate_at_which_the_loss_still_falls_is_not_too_low(
    callback: str, tmp_path: Path
) -> None:
    run = Run(tmp_path)
    _rates_by_callback(
        run, lambda epoch: 0.1 if epoch < 60 else 1e-4, callback, lambda epoch: 1 / (1 + epoch / 20)
    )
    assert run.blamed() == []


def test_a_low_learning_rate_at_which_nothing_more_is_learnt_is_the_cause(tmp_path: Path) -> None:
    run = Run(tmp_path)
    _rates_by_callback(
        run,
        lambda epoch: 0.1 if epoch < 30 else 1e-6,
        "ReduceLROnPlateau",
        lambda epoch: max(0.4, 1 - epoch / 50),
    )
    assert run.blamed() == ["learning-rate-collapsed"]
    assert run.first().strength is Strength.ESTABLISHED


def _steps(run: Run, sizes: dict[int, float], losses: list[float]) -> None:
    """A loop whose learning rate shows nowhere."""
    run.probe(ev.LoopSeen(by="jax", where="train.py:30"))
    for step, loss in enumerate(losses, 1):
        run.probe(ev.LossSeen(step=step, logs={"loss": loss}, step_loss=loss))
    for step, size in sizes.items():
        variables = [{"name": "", "layer": "w", "size": 100, "rms": 1.0, "rms_before": 1.0, "change": size}]
        run.probe(ev.WeightsMoved(since="step", step=step, variables=variables))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=len(losses))
    run.ended(0)


_NOISY = [1.1 - 0.4 * min(1, step / 40) + 0.1 * (step % 5) for step in range(300)]
_AT_REST = [0.6 + 0.5 * 0.9**step for step in range(300)]
_SOLVED = [1.0 * 0.95**step * (1 + 0.1 * (step % 5)) for step in range(300)]


@pytest.mark.parametrize(
    ("sizes", "losses", "found"),
    [
        ({4: 1e-3, 8: 1e-3, 16: 1e-4, 32: 1e-6, 64: 1e-9, 128: 0.0, 256: 0.0}, _NOISY, True),
        ({4: 1e-3, 8: 1e-3, 16: 1e-4, 32: 1e-5, 64: 1e-5, 128: 1e-5, 256: 1e-5}, _NOISY, False),
        ({4: 1e-3, 8: 1e-3, 16: 1e-3, 32: 1e-3, 64: 1e-3, 128: 1e-3, 256: 0.0}, _NOISY, False),  # at its end
        (
            {4: 1e-3, 8: 1e-3, 16: 1e-4, 32: 1e-6, 64: 1e-9, 128: 0.0, 256: 0.0},
            _AT_REST,
            False,
        ),  # no gradient left
        ({4: 1e-3, 8: 1e-3, 16: 1e-4, 32: 1e-6, 64: 1e-9, 128: 0.0, 256: 0.0}, _SOLVED, False),
        ({4: 0.0, 8: 0.0, 16: 0.0, 32: 0.0, 64: 0.0, 128: 0.0, 256: 0.0}, _NOISY, False),
    ],
)
def test_steps_that_became_next_to_nothing(
    tmp_path: Path, sizes: dict[int, float], losses: list[float], found: bool
) -> None:
    run = Run(tmp_path / "run")
    _steps(run, sizes, losses)
    assert ("learning-rate-collapsed" in run.blamed()) is found
    if found:
        assert run.first().title.values["step"] == 32
