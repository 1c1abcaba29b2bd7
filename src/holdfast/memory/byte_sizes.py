"""Sizes in bytes, as a person writes and reads them."""

from __future__ import annotations

import re

from holdfast.errors import OutOfRange

_UNITS = {
    "": 1, "b": 1,
    "k": 2**10, "kib": 2**10, "kb": 10**3,
    "m": 2**20, "mib": 2**20, "mb": 10**6,
    "g": 2**30, "gib": 2**30, "gb": 10**9,
    "t": 2**40, "tib": 2**40, "tb": 10**12,
}  # fmt: skip
_LEAST_IN_BYTES = 1 << 20  # a smaller number without a unit was meant in GiB


def parse(text: str, *, where: str = "the command line") -> int:
    """Bytes of "16GiB", "16 GB", "900MiB"; a number alone is bytes."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    factor = _UNITS.get(found[2].lower()) if found else None
    if found is None or factor is None or float(found[1]) <= 0:
        raise OutOfRange(
            f"{text!r} is not a size of memory",
            where=where,
            change="a number and a unit, as in 16GiB, 16GB or 900MiB",
        )
    size = int(float(found[1]) * factor)
    if not found[2] and size < _LEAST_IN_BYTES:
        raise OutOfRange(
            f"{text} without a unit is {text} bytes, and no card is that small",
            where=where,
            change=f"{text.strip()}GiB, if that is meant",
        )
    return size


def shown(size: float) -> str:
    """Three figures or so: "1.94 GiB", "812 MiB"."""
    if abs(size) >= 10 * 2**30:
        return f"{size / 2**30:.1f} GiB"
    if abs(size) >= 2**30:
        return f"{size / 2**30:.2f} GiB"
    if abs(size) >= 2**20:
        return f"{size / 2**20:.0f} MiB"
    return f"{size / 2**10:.0f} KiB"
