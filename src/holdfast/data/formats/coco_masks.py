"""The box around a COCO segmentation: rings of points, or a mask as run lengths down the columns (RLE).

A mask's runs are a list, or text in the mask API's own code: five bits a character from "0" on, the sixth says
that more follow, and from the fourth run on each is the difference to the one two before it.
"""

from __future__ import annotations

from typing import Any

from holdfast.data.files.parse_numbers import parse_integer, parse_number

LONGEST_RUNS = 1 << 20  # characters or runs of one mask
BoxCorners = tuple[float, float, float, float]  # x, y, width, height


def box_of(segmentation: Any) -> BoxCorners | None:
    if isinstance(segmentation, dict):
        return _box_of_mask(segmentation)
    return _box_of_rings(segmentation) if isinstance(segmentation, list) else None


def _box_of_rings(rings: list[Any]) -> BoxCorners | None:
    # One ring may stand there without brackets of its own.
    nested = any(isinstance(ring, list) for ring in rings)
    flat = [value for ring in rings if isinstance(ring, list) for value in ring] if nested else rings
    values = [parse_number(value) for value in flat]
    points = [value for value in values if value is not None]
    if len(points) < 4 or len(points) != len(values) or len(points) % 2:
        return None
    xs, ys = points[0::2], points[1::2]
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)


def _box_of_mask(mask: dict[str, Any]) -> BoxCorners | None:
    size, counts = mask.get("size"), mask.get("counts")
    height = parse_integer(size[0]) if isinstance(size, list) and len(size) == 2 else None
    runs = _decoded(counts) if isinstance(counts, str) else counts
    if not height or height < 1 or not isinstance(runs, list) or len(runs) > LONGEST_RUNS:
        return None
    left, top, right, bottom = float("inf"), float("inf"), -1.0, -1.0
    at = 0
    for place, run in enumerate(runs):
        if not isinstance(run, int) or run < 0:
            return None
        if place % 2 and run:
            first, last = at, at + run - 1
            left, right = min(left, first // height), max(right, last // height)
            spans = (
                first // height != last // height
            )  # into the next column: through the bottom, and from the top
            top = 0 if spans else min(top, first % height)
            bottom = height - 1 if spans else max(bottom, last % height)
        at += run
    return None if right < 0 else (left, top, right + 1 - left, bottom + 1 - top)


def _decoded(text: str) -> list[int] | None:
    runs: list[int] = []
    value = shift = 0
    for letter in text[: LONGEST_RUNS + 1]:
        code = ord(letter) - 48
        if not 0 <= code < 64 or shift > 60:
            return None
        value |= (code & 31) << shift
        shift += 5
        if not code & 32:
            value -= 1 << shift if code & 16 else 0
            runs.append(value + (runs[-2] if len(runs) > 2 else 0))
            value = shift = 0
    return runs
