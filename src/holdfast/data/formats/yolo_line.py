"""One line of YOLO's text: a class, and a box, a polygon or a box with points, as fractions of the image."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from holdfast.data.files.parse_numbers import parse_integer, parse_number


def read_line(
    line: str, names: Mapping[int, str] = MappingProxyType({}), keypoints: int = 0
) -> tuple[int | None, tuple[float, float, float, float] | str]:
    """Class index and the corners as fractions, or what is wrong with the line."""
    fields = _fields(line)
    index = parse_integer(fields[0])
    if index is None:  # some tools write the name itself
        index = next((number_of for number_of, name in names.items() if name == fields[0]), None)
    values = [parse_number(text.replace(",", ".")) for text in fields[1:]]
    if (
        len(fields) in (9, 10)
        and None not in [parse_number(text) for text in fields[:8]]
        and values[7] is None
    ):
        return None, f"{line.strip()[:60]!r} is DOTA's: four corners in pixels, and then the class"
    if index is None or None in values:
        return None, f"{line.strip()[:60]!r} is not a class and numbers"
    known = [value for value in values if value is not None]
    if keypoints and len(known) == 4 + keypoints:
        known = known[:4]
    if len(known) == 5 and not 0 <= known[4] <= 1:
        return index, f"6 fields, of which the last, {known[4]:g}, is no score; turned boxes are not read so"
    if len(known) in (4, 5):  # a fifth is a detector's score
        cx, cy, w, h = known[:4]
        return index, (cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2)
    if len(known) >= 6 and len(known) % 2 == 0:
        if any(math.isnan(value) for value in known):
            return index, (math.nan, math.nan, math.nan, math.nan)
        xs, ys = known[0::2], known[1::2]
        return index, (min(xs), min(ys), max(xs), max(ys))
    return index, f"{len(fields)} fields: a box has 5 and a polygon an odd number from 7"


def has_score(line: str, keypoints: int) -> bool:
    return len(_fields(line)) == 6 and keypoints != 1


def has_decimal_commas(line: str) -> bool:
    return "," in line and len(line.split()) > 1


def _fields(line: str) -> list[str]:
    fields = line.split()
    return [field.strip() for field in line.split(",")] if len(fields) == 1 and "," in line else fields
