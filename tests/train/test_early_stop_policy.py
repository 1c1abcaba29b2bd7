"""Early stopping: the best, the bar, and the number of evaluations waited."""

from __future__ import annotations

from holdfast.train.early_stop_policy import EarlyStoppingState, after_evaluation, patience_exhausted


def after(values: list[float], **how: object) -> EarlyStoppingState:
    now = EarlyStoppingState()
    for number, value in enumerate(values, start=1):
        now = after_evaluation(now, value, number * 10, **how)  # type: ignore[arg-type]
    return now


def test_waiting_counts_evaluations_since_the_best() -> None:
    now = after([0.1, 0.3, 0.2, 0.3])
    assert (now.best, now.best_step, now.waited) == (0.3, 20, 2)
    assert patience_exhausted(now, 2)
    assert not patience_exhausted(now, 3)
    assert not patience_exhausted(now, None)


def test_small_gains_move_the_best_but_not_the_bar_until_they_add_up() -> None:
    now = after([0.50, 0.54, 0.58], min_delta=0.1)
    assert (now.best, now.bar, now.waited) == (0.58, 0.50, 2)
    now = after_evaluation(now, 0.62, 40, min_delta=0.1)
    assert (now.best, now.best_step, now.bar, now.waited) == (0.62, 40, 0.62, 0)


def test_lower_is_better_when_told_so() -> None:
    now = after([2.0, 1.0, 1.5], mode="min")
    assert (now.best, now.best_step, now.waited) == (1.0, 20, 1)


def test_a_value_that_is_not_finite_is_waited_out() -> None:
    now = after([float("nan"), 0.2, float("nan"), float("inf")])
    assert (now.best, now.best_step, now.waited) == (0.2, 20, 2)


def test_it_comes_back_from_json_the_same() -> None:
    now = after([0.1, 0.30000000000000004, 0.2], min_delta=0.01)
    assert EarlyStoppingState(**now.as_json()) == now
