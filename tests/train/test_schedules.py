"""The learning rate, worked out by hand."""

from __future__ import annotations

import pytest

from holdfast.train.schedules import Schedule, default_warmup, learning_rate_of


@pytest.mark.parametrize(
    ("kind", "step", "expected"),
    [
        ("cosine", 0, 0.2), ("cosine", 3, 0.8), ("cosine", 4, 1.0), ("cosine", 54, 0.5), ("cosine", 103, 0.0002467),
        ("constant", 0, 0.2), ("constant", 4, 1.0), ("constant", 103, 1.0),
        ("steps", 68, 1.0), ("steps", 70, 0.1), ("steps", 92, 0.1), ("steps", 93, 0.01), ("steps", 103, 0.01),
    ],
)  # fmt: skip
def test_the_rate_by_hand(kind: str, step: int, expected: float) -> None:
    schedule = Schedule(kind, peak=1.0, steps=104, warmup_steps=4)
    assert learning_rate_of(schedule, step) == pytest.approx(expected, rel=1e-3)


def test_a_rate_lowered_by_a_roll_back_is_lower_everywhere() -> None:
    plain, lowered = Schedule("cosine", 0.1, 50, 5), Schedule("cosine", 0.1, 50, 5, scale=0.5)
    assert all(
        learning_rate_of(lowered, step) == pytest.approx(learning_rate_of(plain, step) / 2)
        for step in range(50)
    )


def test_no_step_is_idle_and_short_runs_work() -> None:
    for steps in (1, 2, 3, 10, 11):
        schedule = Schedule("cosine", 1.0, steps, default_warmup(steps))
        assert all(learning_rate_of(schedule, step) > 0 for step in range(steps))


def test_usual_warmup() -> None:
    assert [default_warmup(n) for n in (1, 9, 100, 5000, 90000)] == [0, 0, 10, 500, 500]
