"""A series that grows: bounded, spikes are kept, and a page is sent what is new."""

from __future__ import annotations

import math

from holdfast.board.growing_series import GrowingSeries


def test_few_points_are_all_kept() -> None:
    series = GrowingSeries()
    for step in range(3):
        series.add(10.0 + step, float(step), 1.5 * step)
    sent = series.since(-1, 0)
    assert (sent["at"], sent["step"], sent["value"]) == ([10.0, 11.0, 12.0], [0, 1, 2], [0.0, 1.5, 3.0])
    assert sent["last"] == [12.0, 2, 3.0]


def test_only_what_is_new_is_sent_until_points_are_thinned() -> None:
    series = GrowingSeries(most=100)
    for step in range(50):
        series.add(float(step), float(step), 1.0)
    series.add(50.0, 50.0, 2.0)
    sent = series.since(0, 50)
    assert (sent["from"], sent["value"]) == (50, [2.0])
    for step in range(51, 120):
        series.add(float(step), float(step), 1.0)
    assert series.thinned == 1
    assert series.since(0, 51)["from"] == 0, "all of it, since what was sent is not there any more"


def test_a_million_points_stay_few_and_a_spike_keeps_its_height() -> None:
    series = GrowingSeries(most=200)
    for step in range(200_000):
        value = 9.0 if step == 77_777 else -4.0 if step == 150_001 else math.sin(step / 1000)
        series.add(float(step), float(step), value)
    sent = series.since(-1, 0)
    assert 50 <= len(sent["at"]) <= 200
    assert (max(sent["value"]), min(sent["value"])) == (9.0, -4.0)
    assert sent["at"] == sorted(sent["at"])
    assert sent["last"][1] == 199_999


def test_what_is_not_finite_is_a_gap_and_stays_one() -> None:
    series = GrowingSeries(most=40)
    for step in range(500):
        series.add(float(step), math.nan, math.nan if step == 250 else 1.0)
    sent = series.since(-1, 0)
    assert None in sent["value"]
    assert set(sent["step"]) == {None}
