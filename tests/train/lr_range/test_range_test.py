"""The range test's judgement on curves whose answer is known."""

# ruff: noqa: E501  numbers of a measured curve

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from holdfast.train.lr_range.range_test import (
    has_diverged,
    learning_rate_at,
    learning_rate_verdict,
    plot,
    points,
    smoothed,
    suggest,
)

RATES = [learning_rate_at(step, 101) for step in range(101)]


def bowl(rate: float) -> float:
    """Falls fastest around 1e-3, is lowest at 1e-2, breaks beyond."""
    return 5.0 - 4.0 / (1.0 + (1e-3 / rate) ** 2) + (rate / 0.05) ** 2


def test_rates_are_even_on_a_logarithmic_scale() -> None:
    assert RATES[0] == pytest.approx(1e-6)
    assert RATES[50] == pytest.approx(1e-3)
    assert RATES[100] == pytest.approx(1.0)


def test_a_tenth_of_the_lowest_bounded_by_the_steepest() -> None:
    found = suggest(points(RATES, [bowl(rate) for rate in RATES]), batch=16)
    assert found.learning_rate is not None
    assert 5e-4 <= found.learning_rate <= 3e-3
    assert "batches of 16" in found.reason
    assert "rose beyond it" in found.reason


#: Of an SSD on drawn shapes, which trains well at 2e-3: the loss of a hundred steps from 1e-6 to 1.
SEEN = [
    7.33, 6.78, 7.48, 7.48, 7.56, 6.31, 7.48, 6.88, 5.90, 7.56, 7.89, 7.79, 7.47, 7.45, 6.71, 7.40, 7.63, 7.08, 7.23, 6.94,
    7.37, 6.96, 6.87, 7.54, 6.54, 7.30, 7.79, 7.12, 6.50, 5.83, 6.63, 7.25, 7.21, 7.21, 6.92, 6.27, 6.89, 6.02, 7.17, 6.08,
    6.13, 6.26, 6.08, 6.21, 5.84, 6.14, 5.59, 6.04, 6.38, 6.04, 6.29, 5.26, 5.96, 5.78, 5.19, 6.56, 5.86, 5.84, 5.83, 5.88,
    6.49, 7.27, 6.56, 7.56, 7.07, 6.39, 6.63, 6.30, 7.41, 7.93, 7.9, 8.1, 8.2, 8.4, 8.3, 8.5, 8.4, 8.6, 8.4, 8.5, 9, 9.5, 10,
]  # fmt: skip


def test_the_noise_of_the_first_batches_is_no_fall() -> None:
    """With a running mean that begins with one value, the loss "fell fastest" between its first two batches."""
    found = suggest(points(RATES[: len(SEEN)], SEEN), batch=16)
    assert found.learning_rate is not None
    assert 1e-4 <= found.learning_rate <= 6e-4
    assert learning_rate_verdict(2e-3, found.learning_rate) == ""
    assert "may diverge" in learning_rate_verdict(5e-2, found.learning_rate)


def test_a_loss_that_only_wavers_shows_nothing() -> None:
    flat = [7.0 + 0.8 * math.sin(2.7 * step) for step in range(101)]
    assert suggest(points(RATES, flat), batch=4).learning_rate is None


def test_no_answer_is_given_where_there_is_none() -> None:
    assert suggest(points(RATES, [1.0 + rate for rate in RATES]), batch=8).learning_rate is None
    assert suggest(points(RATES, [math.nan] * 101), batch=8).learning_rate is None
    assert suggest(points(RATES[:5], [1.0] * 5), batch=8).learning_rate is None


def test_smoothing_is_unbiased_at_its_start() -> None:
    assert smoothed([2.0, 2.0, 2.0]) == pytest.approx([2.0, 2.0, 2.0])
    assert smoothed([1.0, 2.0])[1] == pytest.approx((0.09 * 1 + 0.1 * 2) / 0.19)


def test_the_test_ends_when_the_loss_is_lost() -> None:
    assert not has_diverged([])
    assert not has_diverged([5.0, 4.0, 6.0])
    assert has_diverged([1.0, math.nan])
    assert has_diverged([1.0] * 20 + [100.0] * 3)


def test_the_plot(stored: Callable[[str, str], None]) -> None:
    marks = {"suggested": 1e-3, "the recipe's": 0.5, "nowhere": 0.0}
    stored("train/lr-find", plot(points(RATES, [bowl(rate) for rate in RATES]), marks=marks))


def test_a_rate_far_from_the_suggestion_is_worth_a_word() -> None:
    assert learning_rate_verdict(1e-3, 5e-4) == ""
    assert learning_rate_verdict(5e-2, 1e-3) == (
        "the learning rate 0.05 is 50 times what the range test suggests (0.001): the loss may diverge"
    )
    assert learning_rate_verdict(1e-5, 1e-3) == (
        "the learning rate 1e-05 is 100 times below what the range test suggests (0.001): "
        "training would take that much longer"
    )
