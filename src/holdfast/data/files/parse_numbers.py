"""Numbers as people and programs write them into annotations."""

from __future__ import annotations

import math


def parse_number(text: object) -> float | None:
    """The number in a field, NaN and infinity included; None where there is none."""
    if isinstance(text, bool) or text is None:
        return None
    if isinstance(text, int | float | str | bytes):
        try:
            return float(text)
        except OverflowError:
            return math.inf
        except ValueError:
            return None
    return None


def parse_integer(text: object) -> int | None:
    """A whole number, also written as `3.0`; None otherwise."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    value = parse_number(text)
    return int(value) if value is not None and value.is_integer() else None


def parse_size(text: object) -> int | None:
    """A width or height: positive and whole; None where it is absent or nonsense."""
    value = parse_integer(text)
    return value if value is not None and 0 < value < 2**31 else None


def parse_flag(text: object) -> bool:
    """True for 1, "1", true, "yes"; anything else is False."""
    if isinstance(text, str):
        return text.strip().lower() in ("1", "true", "yes")
    return text is True or text == 1


def snap(value: float, step: float) -> float:
    """The whole number that `value` is within `step` of, or `value` itself.

    A fraction written with six digits, or as a float32, misses the pixel edge it came from by this much.
    """
    if not math.isfinite(value):
        return value
    nearest = float(round(value))
    return nearest if abs(value - nearest) <= step else value
