"""One row an image: a field of a CSV that holds all of its boxes, as JSON or as Python prints a list.

`[[x, y, w, h], …]` beside a list of classes, or `[{"x": …, "class": …}, …]`. Whether four bare numbers are two
corners or a corner and a size is not written anywhere; the images tell.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from holdfast.data.files.parse_numbers import parse_number

#: `x1 y1 x2 y2;x1 y1 x2 y2`: boxes between semicolons, numbers between spaces.
_GROUPS = re.compile(r"(?:\s*[-+.\d]+(?:\s+[-+.\d]+){3}\s*;)+(?:\s*[-+.\d]+(?:\s+[-+.\d]+){3}\s*)?;?")
LONGEST_FIELD = 4 << 20  # characters; Python's own parser needs a thousand times their memory
_LABELS = (
    "class",
    "label",
    "category",
    "name",
    "class_name",
    "classname",
    "category_name",
    "class_id",
    "category_id",
)
_FORMS: tuple[tuple[tuple[str, ...], bool], ...] = (
    (("xmin", "ymin", "xmax", "ymax"), True),
    (("x_min", "y_min", "x_max", "y_max"), True),
    (("x1", "y1", "x2", "y2"), True),
    (("x", "y", "width", "height"), False),
    (("x", "y", "w", "h"), False),
    (("left", "top", "width", "height"), False),
    (("left", "top", "right", "bottom"), True),
    (("xmin", "ymin", "width", "height"), False),
)  # fmt: skip


class ListedBox(NamedTuple):
    """One box of a list: as `(x, y, x + c, y + d)` where it is four bare numbers, which may be two corners."""

    corners: tuple[float, float, float, float]
    label: str | None  # None where the list itself names none


def is_list(field: str) -> bool:
    """A list of lists, of texts or of objects, or an empty one; a box alone is a list of numbers."""
    inside = field.strip()
    if not inside.startswith(("[", "(")):
        return _GROUPS.fullmatch(inside) is not None
    first = inside[1:].lstrip()
    return first.startswith(("[", "{", "(", "'", '"')) or first in ("]", ")")


def parse_boxes(field: str, labels: str) -> list[ListedBox] | str:
    """The boxes of a row, or what is wrong with it."""
    boxes, names = parsed(field), _names(labels)
    if not isinstance(boxes, list | tuple):
        return f"the boxes are {field.strip()[:60]!r}, which is no list"
    if isinstance(names, list) and len(names) != len(boxes):
        return f"{len(boxes)} boxes and {len(names)} classes"
    found: list[ListedBox] = []
    for position, box in enumerate(boxes):
        corners = corners_of(box)
        if corners is None:
            return f"box {position + 1} is {str(box)[:60]!r}, not four numbers"
        given = names[position] if isinstance(names, list) else names
        found.append(ListedBox(corners, _own_label(box) or given))
    return found


def hold_corners(
    boxes: Iterable[tuple[tuple[float, float, float, float], tuple[int, int]]], *, otherwise: bool
) -> bool:
    """Whether boxes that were read as a corner and a size hold two corners: judged by what leaves the images."""
    beyond = inverted = 0
    for (x1, y1, x2, y2), (width, height) in boxes:
        beyond += x2 > width + 1 or y2 > height + 1
        inverted += x2 - x1 <= x1 or y2 - y1 <= y1
    return otherwise if beyond == inverted else beyond > inverted


def parsed(field: str) -> Any:
    """What a field holds, as JSON or as Python prints it; None where it is neither."""
    if len(field) > LONGEST_FIELD:
        return None
    if _GROUPS.fullmatch(field.strip()):
        return field.strip().strip(";").split(";")
    try:
        return json.loads(field)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(field.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _names(field: str) -> list[str] | str | None:
    """A class for each box, or one for all of them."""
    if not field.strip().startswith(("[", "(")):
        return field.strip() or None
    names = parsed(field)
    return [str(name) for name in names] if isinstance(names, list | tuple) else None


def corners_of(box: Any) -> tuple[float, float, float, float] | None:
    if isinstance(box, dict):
        keys = {str(key).lower(): value for key, value in box.items()}
        if isinstance(keys.get("bbox"), list):
            return corners_of(keys["bbox"])
        for form, far_corner in _FORMS:
            values = _four([keys.get(key) for key in form])
            if values is not None:
                return values if far_corner else _sized(values)
        return None
    if isinstance(box, str):  # "16 12 48 36", or with commas and brackets
        box = re.split(r"[\s,]+", box.strip("[](){} "))
    values = _four(box) if isinstance(box, list | tuple) else None
    return None if values is None else _sized(values)


def _four(values: Any) -> tuple[float, float, float, float] | None:
    known = [parse_number(value) for value in values]
    if len(known) != 4 or None in known:
        return None
    a, b, c, d = (value for value in known if value is not None)
    return a, b, c, d


def _sized(values: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    x, y, w, h = values
    return x, y, x + w, y + h


def _own_label(box: Any) -> str | None:
    if not isinstance(box, dict):
        return None
    keys = {str(key).lower(): value for key, value in box.items()}
    return next((str(keys[key]) for key in _LABELS if keys.get(key) not in (None, "")), None)
