"""Sizes, durations and counts as people write and read them. Every part of Holdfast prints its numbers from here."""

from __future__ import annotations

import math
import re

_SIZES = ("bytes", "KiB", "MiB", "GiB", "TiB")
_FACTORS = {
    "": 1, "b": 1, "bytes": 1,
    "k": 2**10, "kib": 2**10, "kb": 10**3,
    "m": 2**20, "mib": 2**20, "mb": 10**6,
    "g": 2**30, "gib": 2**30, "gb": 10**9,
    "t": 2**40, "tib": 2**40, "tb": 10**12,
}  # fmt: skip
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400


def size(count: float | None, *, decimals: int = 1) -> str:
    """1536 -> "1.5 KiB"; 812 << 20 -> "812 MiB". Bytes, and 100 of any unit, have no decimals."""
    if count is None:
        return "an unknown size"
    sign, rest = ("-", -count) if count < 0 else ("", count)
    unit = 0
    while rest >= 1024 and unit < len(_SIZES) - 1:
        rest, unit = rest / 1024, unit + 1
    places = 0 if unit == 0 or rest >= 100 else decimals
    return f"{sign}{rest:.{places}f} {_SIZES[unit]}"


def exact_size(count: float) -> str:
    """With two decimals, for what is compared with a limit: "1.94 GiB", "812 MiB"."""
    return size(count, decimals=2)


def parse_size(text: str) -> int:
    """Bytes of "16GiB", "16 GB", "900M"; a number alone is bytes. ValueError for anything else, and for zero."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    factor = _FACTORS.get(found[2].lower()) if found else None
    if found is None or factor is None or float(found[1]) <= 0:
        raise ValueError(f"{text!r} is not a size in bytes")
    return int(float(found[1]) * factor)


def duration(seconds: float) -> str:
    """In one unit, for a sentence: "12 ms", "8.5 s", "95 s", "67 min", "3.2 h", "2.5 days"."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 2 * _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds / _HOUR_S:.1f} h" if seconds < 2 * _DAY_S else f"{seconds / _DAY_S:.1f} days"


def long_duration(seconds: float) -> str:
    """In two units, where the exact time matters: "59.3 s", "1 min 5 s", "2 h 40 min"."""
    minutes, rest = divmod(int(seconds), _MINUTE_S)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def short_duration(seconds: float) -> str:
    """In two units of one letter, for a column of a table: "0m 42s", "2h 05m", "3d 4h"."""
    whole = int(seconds)
    if whole >= _DAY_S:
        return f"{whole // _DAY_S}d {whole // _HOUR_S % 24}h"
    if whole >= _HOUR_S:
        return f"{whole // _HOUR_S}h {whole // _MINUTE_S % 60:02d}m"
    return f"{whole // _MINUTE_S}m {whole % _MINUTE_S:02d}s"


def exact_seconds(seconds: float) -> str:
    """Of a limit and what exceeded it, which must not look equal: "8.5 s", "10 s", "120 s"."""
    return f"{round(seconds, 1):g} s" if seconds < 100 else f"{seconds:.0f} s"


def count(number: float, one: str = "", many: str = "") -> str:
    """1234 -> "1,234"; (1, "step") -> "1 step"; (3, "step") -> "3 steps"; (2, "process", "processes")."""
    noun = one if number == 1 else many or f"{one}s"
    return f"{number:,.0f} {noun}" if one else f"{number:,.0f}"


def number(value: float | None) -> str:
    """A loss or a learning rate with four figures; "nan" and "inf" as they are."""
    if value is None:
        return "unknown"
    return f"{value:.4g}" if math.isfinite(value) else str(value)


def percent(share: float) -> str:
    """0.25 -> "25 %"."""
    return f"{100 * share:.0f} %"
