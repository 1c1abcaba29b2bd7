"""What the numbers of a table mean where it does not say so: pixels, fractions, percent, from 0 or from 1.

Read off the numbers, and off the sizes of the images where the numbers alone leave it open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

ONES_THAT_PROVE = 8  # this many corners at 1 and none at 0: the first pixel is called 1
ROOMY_PX = 200  # an image in which boxes that all stay within 100 leave most of it empty


@dataclass(frozen=True, slots=True)
class BoxEncoding:
    """How four numbers in four columns are to be read; two corners in pixels where nothing speaks against it."""

    percent: bool = False
    sized: bool = False  # a corner and a size
    unclear: bool = False  # percent and pixels are both possible


def infer_box_encoding(numbers: Any, extents: Any, *, headerless: bool) -> BoxEncoding:
    """What (n, 4) numbers mean in images of (n, 2) pixels. Without a header, less is needed to change one's mind."""
    given = np.asarray(numbers, float).reshape(-1, 4)
    sizes = np.asarray(extents, float).reshape(-1, 2)
    usable = np.isfinite(given).all(axis=1)
    given, sizes = given[usable], sizes[usable]
    if not len(given):
        return BoxEncoding()
    sized = headerless and _are_sizes(given, sizes)
    if not ((given >= -0.5) & (given <= 100.5)).all():
        return BoxEncoding(sized=sized)
    hundred = np.full_like(sizes, 100)
    sized_percent = headerless and _are_sizes(given, hundred)
    reach = _far(given, sized=sized_percent).max(axis=0)
    if reach.max() > 100.5:
        return BoxEncoding(sized=sized)
    outside = (_far(given, sized=sized) > sizes + 1).any(axis=1).mean() > 0.3
    roomy, broken = (sizes >= ROOMY_PX).all(), (given % 1 != 0).mean() > 0.5
    spread = roomy and reach.min() > 70 and (broken or (reach.min() > 95 and len(given) >= 30))
    if len(given) >= (3 if headerless else 20) and (outside or spread):
        return BoxEncoding(percent=True, sized=sized_percent)
    return BoxEncoding(sized=sized, unclear=bool(headerless and (outside or (roomy and reach.min() > 50))))


def _far(given: Any, *, sized: bool) -> Any:
    return given[:, :2] + given[:, 2:] if sized else given[:, 2:]


def _are_sizes(given: Any, extents: Any) -> bool:
    """As two corners many would be inverted, and as a corner and a size next to none leaves its image."""
    inverted = (given[:, 2:] <= given[:, :2]).any(axis=1).mean()
    beyond = (given[:, :2] + given[:, 2:] > extents * 1.01 + 1).any(axis=1).mean()
    return bool(len(given) >= 3 and inverted > 0.3 and beyond < 0.05)


def are_percent(blocks: Iterable[Any]) -> bool:
    """For a table that says percent: nearly all within 0 and 100. Of each block (n, 4) numbers, as for all below."""
    count = inside = 0
    for values in map(_finite, blocks):
        count += values.size
        inside += int(((values >= -5) & (values <= 105)).sum())
    return bool(count) and inside / count > 0.95


def are_fractions(blocks: Iterable[Any]) -> bool:
    """Nearly all within 0 and 1, and not merely boxes of one pixel."""
    count = inside = broken = 0
    for values in map(_finite, blocks):
        count += values.size
        inside += int(((values >= -0.5) & (values <= 1.5)).sum())
        broken += int((values % 1 != 0).sum())
    return bool(count) and inside / count > 0.95 and broken / count > 0.5


def count_from_one(blocks: Iterable[Any]) -> bool:
    ones = 0
    for corners in blocks:
        lows = np.asarray(corners, float)[:, :2]
        if not ((lows % 1 == 0) & (lows >= 1)).all():
            return False
        ones += int((lows == 1).sum())
    return ones >= ONES_THAT_PROVE


def _finite(corners: Any) -> Any:
    values = np.asarray(corners, float)
    return values[np.isfinite(values)]
