"""Trials on the CPU, with made-up peaks."""

from __future__ import annotations

from holdfast.memory.breakdown import METHODS
from holdfast.memory.estimate import estimators
from holdfast.memory.estimate.estimators import (
    CpuTrialEstimator,
)
from holdfast.memory.estimate.prediction_cache import PredictionFailed
from holdfast.memory.memory_plan import make_plan
from holdfast.memory.step_config import StepConfig

POOLED = StepConfig("ssd", "mobilenet_v2", 128, 20, 20, batch=28, micro_batch=28, backend="tensorflow")


def trials(monkeypatch, memory_bytes, peak_of):
    """On a machine with 20 GiB free, whose steps take what `peak_of` says; and what was tried."""
    tried = []

    def once(config, **_):
        tried.append(config.micro_batch)
        return {"first_bytes": 0, "steps_bytes": peak_of(config.micro_batch)}

    monkeypatch.setattr(estimators, "run_trial", once)
    monkeypatch.setattr(estimators, "free_memory_bytes", lambda: 20 << 30)
    return CpuTrialEstimator(memory_bytes), tried


def with_pool(micro):
    """100 MiB per image, and the pool takes a region more for 14 to 20 of them."""
    return (1000 + 100 * micro + 700 * (14 <= micro <= 20)) << 20


def test_what_fits_by_the_line_is_run_and_a_pool_that_grew_makes_it_smaller(monkeypatch):
    estimate, tried = trials(monkeypatch, 3 << 30, with_pool)
    made = make_plan(POOLED, 3 << 30, estimate)
    assert tried == [2, 8, 13, 26, 14, 14]
    assert [str(one) for one in made.chosen.changes] == ["train.micro_batch = 7"]
    assert made.chosen.breakdown.total_bytes == 1700 << 20  # 8 were run, and fitted
    assert estimate(POOLED, [14])[0].method is METHODS["run"]


def test_what_does_not_fit_by_the_line_is_not_run(monkeypatch):
    estimate, tried = trials(monkeypatch, 3 << 30, with_pool)
    assert estimate(POOLED, [28])[0].fits(3 << 30) == "does-not-fit"
    assert 28 not in tried


def test_a_trial_that_the_kernel_ends_does_not_fit(monkeypatch):
    def killed_above_ten(micro):
        if micro == 14:
            raise PredictionFailed("a trial of the step did not finish", where="here", found="exit code -9")
        return (1000 + 100 * micro) << 20

    estimate, _ = trials(monkeypatch, 3 << 30, killed_above_ten)
    assert estimate(POOLED, [14])[0].fits(3 << 30) == "does-not-fit"
    assert make_plan(POOLED, 3 << 30, estimate).chosen.config.micro_batch == 7


def test_of_two_runs_of_what_fits_by_the_line_the_higher_counts(monkeypatch):
    peaks = iter([2400 << 20, 2900 << 20])
    estimate, tried = trials(
        monkeypatch, 3 << 30, lambda micro: next(peaks) if micro == 14 else (1000 + 100 * micro) << 20
    )
    found = estimate(POOLED, [14])[0]
    assert (tried[-2:], found.total_bytes, found.fits(3 << 30)) == ([14, 14], 2900 << 20, "too-close")
