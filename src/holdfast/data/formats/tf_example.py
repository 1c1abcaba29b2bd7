"""`tf.train.Example` in the protocol-buffer wire format, read and written without TensorFlow.

Example {1: Features {1: map entry {1: key, 2: Feature {1: bytes list | 2: float list | 3: int64 list}}}}.
A SequenceExample has `feature_lists` as field 2 and is another message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class NotAnExample(ValueError):
    """The bytes are no tf.train.Example; the text says why."""


class IsASequence(NotAnExample):
    """A tf.train.SequenceExample, which has another layout."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A bytes value by its place in the message, so that an image is not copied to know where it is."""

    start: int
    stop: int


Values = tuple[Slice, ...] | tuple[float, ...] | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Example:
    data: bytes
    features: Mapping[str, Values]

    def slices(self, key: str) -> tuple[Slice, ...]:
        return tuple(value for value in self.features.get(key, ()) if isinstance(value, Slice))

    def bytes_of(self, key: str) -> list[bytes]:
        return [self.data[part.start : part.stop] for part in self.slices(key)]

    def text(self, key: str) -> str:
        values = self.bytes_of(key)
        return values[0].decode("utf-8", "replace") if values else ""

    def numbers(self, key: str) -> list[float]:
        return [float(value) for value in self.features.get(key, ()) if not isinstance(value, Slice)]

    def whole_numbers(self, key: str) -> list[int]:
        return [int(value) for value in self.features.get(key, ()) if isinstance(value, int)]


def parse_example(data: bytes) -> Example:
    features: dict[str, Values] = {}
    for field, kind, start, stop in _fields(data, 0, len(data)):
        if field == 2 and kind == _BYTES:
            raise IsASequence("this is a tf.train.SequenceExample (video or track), not a tf.train.Example")
        if field != 1 or kind != _BYTES:
            raise NotAnExample(f"field {field} does not belong to a tf.train.Example")
        for inner, inner_kind, inner_start, inner_stop in _fields(data, start, stop):
            if inner == 1 and inner_kind == _BYTES:
                key, values = _entry(data, inner_start, inner_stop)
                features[key] = values
    return Example(data, features)


def _entry(data: bytes, start: int, stop: int) -> tuple[str, Values]:
    key, values = "", ()  # type: tuple[str, Values]
    for field, kind, begin, end in _fields(data, start, stop):
        if field == 1 and kind == _BYTES:
            key = data[begin:end].decode("utf-8", "replace")
        elif field == 2 and kind == _BYTES:
            values = _feature(data, begin, end)
    return key, values


def _feature(data: bytes, start: int, stop: int) -> Values:
    values: Values = ()
    for field, kind, begin, end in _fields(data, start, stop):
        if kind == _BYTES and field == 1:
            values = tuple(Slice(b, e) for f, k, b, e in _fields(data, begin, end) if f == 1 and k == _BYTES)
        elif kind == _BYTES and field == 2:
            values = tuple(_floats(data, begin, end))
        elif kind == _BYTES and field == 3:
            values = tuple(_integers(data, begin, end))
    return values


def _floats(data: bytes, start: int, stop: int) -> Iterator[float]:
    for field, kind, begin, end in _fields(data, start, stop):
        if field == 1 and kind == _BYTES and (end - begin) % 4 == 0:
            yield from struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
        elif field == 1 and kind == _FIXED32:
            yield struct.unpack("<f", data[begin:end])[0]


def _integers(data: bytes, start: int, stop: int) -> Iterator[int]:
    for field, kind, begin, end in _fields(data, start, stop):
        if field != 1 or kind not in (_BYTES, _VARINT):
            continue
        while begin < end:
            value, begin = _varint(data, begin, end)
            yield value - (1 << 64) if value >= 1 << 63 else value


def _fields(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
    """Field number, wire type, and where its value begins and ends."""
    while start < stop:
        tag, start = _varint(data, start, stop)
        field, kind = tag >> 3, tag & 7
        if field == 0:
            raise NotAnExample("a field has the number 0")
        if kind == _BYTES:
            length, start = _varint(data, start, stop)
            end = start + length
        elif kind == _VARINT:
            _, end = _varint(data, start, stop)
        elif kind in (_FIXED32, _FIXED64):
            end = start + (4 if kind == _FIXED32 else 8)
        else:
            raise NotAnExample(f"wire type {kind} is not used by any message of today")
        if end > stop:
            raise NotAnExample("a field is longer than the message that holds it")
        yield field, kind, start, end
        start = end


def _varint(data: bytes, start: int, stop: int) -> tuple[int, int]:
    value = shift = 0
    while start < stop and shift < 64:
        byte = data[start]
        value |= (byte & 0x7F) << shift
        start += 1
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, start
        shift += 7
    raise NotAnExample("a number is cut short")


# -- writing ------------------------------------------------------------------------------------


def serialize_example(features: Mapping[str, list[bytes] | list[float] | list[int]]) -> bytes:
    """A serialised tf.train.Example. Keys are sorted, so the same features give the same bytes."""
    entries = [delimited(1, _map_entry(key, features[key])) for key in sorted(features)]
    return delimited(1, b"".join(entries))


def _map_entry(key: str, values: list[bytes] | list[float] | list[int]) -> bytes:
    return delimited(1, key.encode()) + delimited(2, _feature_of(values))


def _feature_of(values: list[bytes] | list[float] | list[int]) -> bytes:
    if values and isinstance(values[0], bytes):
        return delimited(1, b"".join(delimited(1, value) for value in values if isinstance(value, bytes)))
    if values and isinstance(values[0], float):
        return delimited(2, delimited(1, struct.pack(f"<{len(values)}f", *values)))
    packed = b"".join(encoded(int(value) & 0xFFFFFFFFFFFFFFFF) for value in values)
    return delimited(3, delimited(1, packed)) if values else b""


def delimited(field: int, payload: bytes) -> bytes:
    return encoded(field << 3 | _BYTES) + encoded(len(payload)) + payload


def encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
