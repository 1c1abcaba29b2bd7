"""Values of records that anybody may have written, as what they should be, or as nothing. Pure."""

from __future__ import annotations

import json
import math
from typing import Any

_BIGGEST = 1e18


def loaded(line: bytes, most: int = 1 << 16) -> dict[str, Any]:
    """The object of a JSON line; {} for anything else, and for a line longer than `most`."""
    if len(line) > most:
        return {}
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float | None:
    """A finite number; None for anything else, so that it can stand in JSON."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        as_float = float(value)
    except OverflowError:
        return None
    return as_float if math.isfinite(as_float) else None


def count(value: Any) -> int:
    """A number of things, 0 where it is none."""
    found = number(value)
    return int(found) if found is not None and 0 <= found <= _BIGGEST else 0


def text(value: Any, most: int = 300) -> str:
    if not isinstance(value, str):
        return ""
    return value if len(value) <= most else value[: most - 1] + "…"


def objects(value: Any, most: int = 50) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [one for one in value[:most] if isinstance(one, dict)] if isinstance(value, list) else []


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
