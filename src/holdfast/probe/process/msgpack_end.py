"""Whether a MessagePack file is whole, by following its lengths. Flax keeps its checkpoints in it."""

from __future__ import annotations

import struct

_MOST_VALUES = 1_000_000
#: Bytes of a value after its first byte; of a length before the content, with the content's share of a length.
_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8,
          0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}  # fmt: skip
_BYTES = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_WITH_TYPE = (0xC7, 0xC8, 0xC9)
_LISTS, _MAPS = {0xDC: 2, 0xDD: 4}, {0xDE: 2, 0xDF: 4}
_NUMBERS = {1: ">B", 2: ">H", 4: ">I"}


class _NotMessagePack(Exception):
    pass


def is_map(head: bytes) -> bool:
    """It begins with a map whose first key is a text, as every checkpoint does."""
    if not head or not (0x81 <= head[0] <= 0x8F or head[0] in _MAPS):
        return False
    at = 1 + _MAPS.get(head[0], 0)
    key = head[at] if len(head) > at else 0
    length = key & 0x1F if 0xA1 <= key <= 0xBF else head[at + 1] if key == 0xD9 and len(head) > at + 1 else 0
    start = at + (2 if key == 0xD9 else 1)
    text = head[start : start + length]
    return 0 < length == len(text) and all(32 <= one < 127 for one in text)


def bytes_wanted(path: str, size: int) -> int | None:
    """At least so many bytes the file should have; None where it is not MessagePack to its end."""
    with open(path, "rb") as file:
        left, at, values = 1, 0, 0
        while left:
            values += 1
            if values > _MOST_VALUES:
                return None
            if at >= size:
                return at + left  # a byte for each value that is missing
            file.seek(at)
            try:
                more, skipped = _value(file.read(6))
            except _NotMessagePack:
                return None
            left += more - 1
            at += skipped
    return at


def _value(head: bytes) -> tuple[int, int]:
    """How many values are inside, and how many bytes to the next one."""
    first = head[0]
    if first <= 0x7F or first >= 0xE0:
        return 0, 1
    if first <= 0x8F:
        return 2 * (first & 0x0F), 1
    if first <= 0x9F:
        return first & 0x0F, 1
    if first <= 0xBF:
        return 0, 1 + (first & 0x1F)
    if first in _FIXED:
        return 0, 1 + _FIXED[first]
    wide = _BYTES.get(first) or _LISTS.get(first) or _MAPS.get(first)
    if wide is None:
        raise _NotMessagePack
    if len(head) < 1 + wide:  # the length itself is cut off
        return 1, 1 + wide
    (number,) = struct.unpack(_NUMBERS[wide], head[1 : 1 + wide])
    if first in _BYTES:
        return 0, 1 + wide + number + (first in _WITH_TYPE)
    return number * (2 if first in _MAPS else 1), 1 + wide
