"""Numbers as the journal and the probe write them, and the middle of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def whole_or_none(value: Any) -> int | None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return int(value) if number else None


def number_of(value: Any) -> float | None:
    """A logged number. The journal writes "nan", "inf" and "-inf" as words."""
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def median(values: Sequence[float]) -> float:
    """The middle one. Importing `statistics` for it would cost a tenth of the time of an explanation."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    """The value on either side of which half of the weight is; between two such values, their mean."""
    ordered = sorted(zip(values, weights, strict=True))
    half, below = sum(weights) / 2, 0.0
    for place, (value, weight) in enumerate(ordered):
        below += weight
        if below == half:
            return (value + ordered[place + 1][0]) / 2
        if below > half:
            return value
    return ordered[-1][0]
