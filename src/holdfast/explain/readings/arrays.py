"""Arrays of unlike shapes that were to become one, as the probe found them in the frames of the exception."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev
from holdfast.units import parse_size

Shape = tuple[int, ...]
#: What `batch` of tf.data and torch's default collation raise: the new element's shape and that of those before it.
_NOT_BATCHED = re.compile(
    r"(?:Cannot (?:add tensor to the batch|batch tensors)|stack expects each tensor to be equal size)"
    r".*?\[([\d, ]+)\].*?\[([\d, ]+)\]",
    re.DOTALL,
)
#: Words of a refused allocation: its shape, as NumPy and TensorFlow write it, or its size, as torch and JAX do.
_REFUSED_SHAPE = re.compile(r"(?:array with shape \(|shape ?\[)([\d, ]+)[)\]]")
_REFUSED_SIZE = re.compile(r"allocat(?:e|ing) (?:an additional )?([\d.]+) ?(bytes|[KMGTPE]i?B)\b")
#: A line that means every pair: a kernel, a table of distances, an axis added on purpose.
_MEANS_PAIRS = re.compile(
    r"\bNone\b|newaxis|expand_dims|unsqueeze|outer|cdist|pdist|pairwise|einsum|meshgrid|kron|matmul|\.dot|@|\.T\b|"
    r"distance|gram|kernel"
)
_ARITHMETIC = re.compile(r"[\w)\]]\s*(?:[-+*/%<>]|[=!<>]=)\s*[\w(]")
_ITEM_BYTES = re.compile(r"(\d+)$")
#: Sizes are written with two digits behind the point at least ("215. GiB" is the coarsest): so far may they be apart.
_SIZE_ROUNDED = 0.01
#: Grey, grey with alpha, RGB, RGB with alpha; and the dimensions of one image: height, width, channels.
CHANNELS, _IMAGE_RANK = (1, 2, 3, 4), 3


class UnlikeShapes(NamedTuple):
    usual: Shape  # that most of them have
    odd: Shape  # of the first other one
    fact: Fact


def unlike_shapes(evidence: Evidence) -> UnlikeShapes | None:
    """Of the arrays that the exception's frames held."""
    seen = evidence.last(ev.ArrayShapesDiffered)
    if seen is None:
        return None
    one = seen.event
    fact = seen.fact("arrays.unlike", number=one.index, of=one.total, odd=one.odd, usual=one.usual)
    return UnlikeShapes(tuple(one.usual), tuple(one.odd), fact)


def shapes_not_batched(error_text: str) -> tuple[Shape, Shape] | None:
    """The two shapes that tf.data's `batch` could not put into one batch: the element's, then the batch's."""
    found = _NOT_BATCHED.search(error_text)
    return (_shape(found[1]), _shape(found[2])) if found else None


class Stretched(NamedTuple):
    """One row each on both sides, along different axes: together they are every pair of rows."""

    column: Shape  # (n, 1)
    row: Shape  # (n,)
    names: tuple[str, str]
    written: bool  # the line that failed computes with both
    fact: Fact


def stretched_arrays(evidence: Evidence) -> Stretched | None:
    """Arrays at hand that make up the refused allocation when one is stretched over the other."""
    seen, error = evidence.last(ev.AtHandSeen), evidence.error
    if seen is None or error is None or _MEANS_PAIRS.search(error.user_code):
        return None
    named = set(re.findall(r"[A-Za-z_]\w*", error.user_code))
    innermost: dict[str, Shape] = {}
    widths: dict[str, int] = {}
    for one in seen.event.arrays:
        name, width = str(one.get("name")), _ITEM_BYTES.search(str(one.get("dtype")))
        innermost.setdefault(name, tuple(one.get("shape") or ()))
        widths.setdefault(name, int(width[1]) // 8 if width else 0)
    # JAX computes in the background: the line that failed may only use what could not be made.
    squares = {math.prod(shape) for name, shape in innermost.items() if name in named and len(shape) > 1}
    columns = [
        name
        for name, shape in innermost.items()
        if len(shape) > 1 and shape[-1] == 1 and (name in named or math.prod(shape) ** 2 in squares)
    ]
    rows = sorted(innermost, key=lambda name: name not in named)
    pairs = [(column, row) for column in columns for row in rows if innermost[row] == innermost[column][:-1]]
    for column, row in pairs:
        count = math.prod(innermost[column])
        if count > 1 and _is_refused(error.text, count, max(widths[column], widths[row])):
            written = {column, row} <= named and _ARITHMETIC.search(error.user_code) is not None
            return _stretched(seen, innermost, (column, row), written)
    return None


def _stretched(
    seen: Recorded[ev.AtHandSeen], shapes: dict[str, Shape], names: tuple[str, str], written: bool
) -> Stretched:
    column, row = (shapes[name] for name in names)
    values = {"column": names[0], "column_shape": list(column), "row": names[1], "row_shape": list(row)}
    return Stretched(column, row, names, written, seen.fact("arrays.stretched", **values))


def _is_refused(text: str, count: int, width: int) -> bool:
    """Whether what was refused has a place for every pair of so many rows."""
    shape = _REFUSED_SHAPE.search(text)
    if shape is not None:
        return math.prod(_shape(shape[1])) == count * count
    size = _REFUSED_SIZE.search(text)
    if size is None or not width:
        return False
    try:
        refused = parse_size(f"{size[1]} {size[2]}" if size[2] != "bytes" else size[1])
    except ValueError:
        return False
    return abs(refused - count * count * width) <= _SIZE_ROUNDED * refused


def _shape(text: str) -> Shape:
    return tuple(int(side) for side in text.split(",") if side)


def differ_in_channels(one: Shape, other: Shape) -> bool:
    """Equal but for the number of channels, the last dimension or torch's first. A grey image may have none."""
    if len(one) == len(other):
        last = one[:-1] == other[:-1] and one[-1:] != other[-1:] and {*one[-1:], *other[-1:]} <= {*CHANNELS}
        first = one[1:] == other[1:] and one[:1] != other[:1] and {*one[:1], *other[:1]} <= {*CHANNELS}
        return last or (first and len(one) == _IMAGE_RANK)
    longer, shorter = max(one, other, key=len), min(one, other, key=len)
    return len(longer) == _IMAGE_RANK and longer[:-1] == shorter and longer[-1] in CHANNELS
