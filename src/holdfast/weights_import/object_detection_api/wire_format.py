"""Protocol buffers in the wire format: fields one after the other, every length checked. Standard library alone."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class BadWireFormat(ValueError):
    """The bytes are no protocol buffer; the text says why."""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field: a whole number for varints and fixed widths, bytes for the rest."""
    place = 0
    while place < len(data):
        tag, place = varint(data, place)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, place = varint(data, place)
            yield number, value
            continue
        if kind == BYTES:
            length, place = varint(data, place)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise BadWireFormat(f"a field of the unknown kind {kind}")
        if length > len(data) - place:
            raise BadWireFormat(f"a field of {length} bytes where {len(data) - place} are left")
        part = data[place : place + length]
        yield number, part if kind == BYTES else int.from_bytes(part, "little")
        place += length


def varint(data: bytes, place: int) -> tuple[int, int]:
    """A variable-length number, at most 64 bits, and the place behind it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise BadWireFormat("it ends inside a number")
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (2**64 - 1), place
    raise BadWireFormat("a number of more than ten bytes")


def signed(value: int) -> int:
    """An int64 as it was before it became a varint."""
    return value - 2**64 if value >= 2**63 else value
