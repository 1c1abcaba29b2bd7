"""Old names of `holdfast.units`, for causes that still build sentences. It goes with the last of them."""

from __future__ import annotations

from holdfast.explain.readings.output import clipped, without_colour
from holdfast.units import count, duration, number, percent, size

__all__ = [
    "clipped",
    "counted",
    "listed",
    "number",
    "share",
    "size",
    "span",
    "whole",
    "without_colour",
]


def whole(number: float) -> str:
    return count(number)


def counted(number: int, one: str, many: str = "") -> str:
    return count(number, one, many)


def span(seconds: float) -> str:
    return duration(seconds)


def share(part: float, of: float) -> str:
    return percent(part / of) if of else "0 %"


def listed(names: list[str], most: int = 5) -> str:
    """ "a, b, c and 4 more" """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
