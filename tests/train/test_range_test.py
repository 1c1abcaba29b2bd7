"""The range test's judgement on curves whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from holdfast.train.range_test import is_over, plot, points, rate_at, smoothed, suggest, verdict

RATES = [rate_at(step, 101) for step in range(101)]


def bowl(rate: float) -> float:
    """Falls fastest around 1e-3, is lowest at 1e-2, breaks beyond."""
    return 5.0 - 4.0 / (1.0 + (1e-3 / rate) ** 2) + (rate / 0.05) ** 2


def test_rates_are_even_on_a_logarithmic_scale() -> None:
    assert RATES[0] == pytest.approx(1e-6)
    assert RATES[50] == pytest.approx(1e-3)
    assert RATES[100] == pytest.approx(1.0)


def test_a_tenth_of_the_lowest_bounded_by_the_steepest() -> None:
    found = suggest(points(RATES, [bowl(rate) for rate in RATES]), batch=16)
    assert found.rate is not None
    assert 5e-4 <= found.rate <= 3e-3
    assert "batches of 16" in found.why
    assert "rose beyond it" in found.why


def test_no_answer_is_given_where_there_is_none() -> None:
    assert suggest(points(RATES, [1.0 + rate for rate in RATES]), batch=8).rate is None
    assert suggest(points(RATES, [math.nan] * 101), batch=8).rate is None
    assert suggest(points(RATES[:5], [1.0] * 5), batch=8).rate is None


def test_smoothing_is_unbiased_at_its_start() -> None:
    assert smoothed([2.0, 2.0, 2.0]) == pytest.approx([2.0, 2.0, 2.0])
    assert smoothed([1.0, 2.0])[1] == pytest.approx((0.09 * 1 + 0.1 * 2) / 0.19)


def test_the_test_ends_when_the_loss_is_lost() -> None:
    assert not is_over([])
    assert not is_over([5.0, 4.0, 6.0])
    assert is_over([1.0, math.nan])
    assert is_over([1.0] * 20 + [100.0] * 3)


def test_the_plot(stored: Callable[[str, str], None]) -> None:
    marks = {"suggested": 1e-3, "the recipe's": 0.5, "nowhere": 0.0}
    stored("train/lr-find", plot(points(RATES, [bowl(rate) for rate in RATES]), marks=marks))


def test_a_rate_far_from_the_suggestion_is_worth_a_word() -> None:
    assert verdict(1e-3, 5e-4) == ""
    assert verdict(5e-2, 1e-3) == (
        "the learning rate 0.05 is 50 times what the range test suggests (0.001): the loss may break"
    )
    assert verdict(1e-5, 1e-3) == (
        "the learning rate 1e-05 is 100 times below what the range test suggests (0.001): "
        "training would take that much longer"
    )
