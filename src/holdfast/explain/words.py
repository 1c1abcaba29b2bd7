"""Old names of `holdfast.units`, for causes that still build sentences. It goes with the last of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.units import count, duration, number, percent, size

__all__ = [
    "clipped",
    "counted",
    "listed",
    "median",
    "number",
    "share",
    "size",
    "span",
    "whole",
    "without_colour",
]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def whole(number: float) -> str:
    return count(number)


def counted(number: int, one: str, many: str = "") -> str:
    return count(number, one, many)


def span(seconds: float) -> str:
    return duration(seconds)


def share(part: float, of: float) -> str:
    return percent(part / of) if of else "0 %"


def without_colour(text: str) -> str:
    return _COLOUR.sub("", text)


def clipped(text: str, length: int = 160) -> str:
    """One line of it, cut with a mark."""
    line = " ".join(without_colour(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def listed(names: list[str], most: int = 5) -> str:
    """ "a, b, c and 4 more" """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def median(values: Sequence[float]) -> float:
    """The middle one. Importing `statistics` for it would cost a tenth of the time of an explanation."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
