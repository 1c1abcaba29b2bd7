"""Sizes, durations and counts: what is printed, and what is read back."""

from __future__ import annotations

import pytest

from holdfast import units

MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("bytes_", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (99.94 * MIB, "99.9 MiB"), (100 * MIB, "100 MiB"),
     (1.8 * GIB, "1.8 GiB"), (5000 * GIB, "4.9 TiB"), (-3 * MIB, "-3.0 MiB"), (None, "an unknown size")],
)  # fmt: skip
def test_sizes(bytes_: float | None, text: str) -> None:
    assert units.size(bytes_) == text


def test_a_size_with_more_decimals() -> None:
    assert units.exact_size(1.94 * GIB) == "1.94 GiB"
    assert units.exact_size(812 * MIB) == "812 MiB"


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("16GiB", 16 * GIB), ("16 GB", 16 * 10**9), ("900M", 900 * MIB), ("1.5 kib", 1536), ("4096", 4096)],
)
def test_sizes_are_parsed(text: str, bytes_: int) -> None:
    assert units.parse_size(text) == bytes_


@pytest.mark.parametrize("text", ["", "GiB", "16 cards", "-1GiB", "0", "1e9"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        units.parse_size(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.012, "12 ms"), (8.46, "8.5 s"), (95, "95 s"), (119.4, "119 s"), (4000, "67 min"), (3.2 * 3600, "3.2 h"),
     (60 * 3600, "2.5 days")],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text


def test_durations_in_two_units() -> None:
    assert [units.long_duration(s) for s in (59.3, 65, 9600)] == ["59.3 s", "1 min 5 s", "2 h 40 min"]
    assert [units.short_duration(s) for s in (42, 7500, 273600)] == ["0m 42s", "2h 05m", "3d 4h"]


def test_a_limit_and_what_exceeded_it_do_not_look_equal() -> None:
    assert [units.exact_seconds(s) for s in (8.5, 10.0, 120.4)] == ["8.5 s", "10 s", "120 s"]


def test_counts_numbers_and_shares() -> None:
    assert units.count(1234567) == "1,234,567"
    assert [units.count(n, "step") for n in (0, 1, 1200)] == ["0 steps", "1 step", "1,200 steps"]
    assert units.count(2, "process", "processes") == "2 processes"
    assert [units.number(v) for v in (0.123456, float("nan"), None)] == ["0.1235", "nan", "unknown"]
    assert units.percent(0.256) == "26 %"
