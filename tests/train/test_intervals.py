"""Steps and spans of time."""

from __future__ import annotations

import pytest

from holdfast.train.intervals import Interval, parse_interval


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (200, Interval(steps=200)),
        ("30s", Interval(seconds=30)),
        ("1.5 min", Interval(seconds=90)),
        ("2h", Interval(seconds=7200)),
    ],
)
def test_what_a_recipe_says(setting: int | str, expected: Interval) -> None:
    assert parse_interval(setting) == expected


def test_due_by_steps_and_never_twice() -> None:
    assert [step for step in range(12) if Interval(steps=5).due(step, last_step=0, since_s=1e9)] == [5, 10]
    assert not Interval(steps=5).due(10, last_step=10, since_s=1e9)


def test_due_by_time() -> None:
    assert not Interval(seconds=60).due(7, last_step=3, since_s=59.9)
    assert Interval(seconds=60).due(7, last_step=3, since_s=60.0)
    assert not Interval(seconds=60).due(3, last_step=3, since_s=60.0)
