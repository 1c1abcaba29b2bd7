"""Numbers as people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def size(count: float | None) -> str:
    """1536 -> "1.5 KiB"."""
    if count is None:
        return "an unknown size"
    sign, rest = ("-", -count) if count < 0 else ("", count)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if rest < 1024 or unit == "TiB":
            break
        rest /= 1024
    return f"{sign}{rest:.0f} {unit}" if unit == "bytes" or rest >= 100 else f"{sign}{rest:.1f} {unit}"


def whole(count: float) -> str:
    """1234567 -> "1,234,567"."""
    return f"{count:,.0f}"


def counted(count: int, one: str, many: str = "") -> str:
    """(1, "step") -> "1 step"; (3, "step") -> "3 steps"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def span(seconds: float) -> str:
    """95 -> "95 s"; 4000 -> "67 min"; 0.012 -> "12 ms"."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def number(value: float | None) -> str:
    """A loss or a rate with four figures."""
    if value is None:
        return "unknown"
    return f"{value:.4g}" if math.isfinite(value) else str(value)


def share(part: float, of: float) -> str:
    return f"{100 * part / of:.0f} %" if of else "0 %"


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
